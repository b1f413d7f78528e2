package io.jccl.djl;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reduces and broadcasts tensors through a bucket: shared memory that the ranks of a host use in place. Tensors of one
 * type are copied into the bucket one after the other. Several small tensors share a bucket; a large one travels in
 * parts.
 *
 * <p>A collective never accesses the memory of a tensor, so tensors may be closed as soon as the collective has ended,
 * even if it failed. After a failure, a tensor contains its own elements, except that parts in earlier buckets may
 * already contain the results.
 */
final class Buckets implements AutoCloseable {

    private final int capacity;
    private @Nullable HostBuffer memory;

    /** @param bytes size of the bucket, a multiple of 8 */
    Buckets(int bytes) {
        this.capacity = bytes;
    }

    /**
     * All-reduces the elements of tensors in place, and waits. All ranks must pass tensors of the same types and sizes.
     *
     * @param wire the format of tensors whose type it supports; others travel as they are. Each tensor begins a block
     *     of the format, so that large elements of one do not cost another its small ones
     */
    void allReduce(Communicator comm, List<TensorView> tensors, ReduceOp op, WireFormat wire) {
        tensors.stream()
                .collect(Collectors.groupingBy(
                        TensorView::type, () -> new EnumMap<>(DataType.class), Collectors.toList()))
                .forEach((type, ofType) -> {
                    WireFormat applied = WireFormat.supports(type) ? wire : WireFormat.EXACT;
                    int alignment = applied.equals(WireFormat.EXACT) ? 1 : WireFormat.BLOCK * type.bytes();
                    execute(ofType, type, alignment, bucket -> comm.allReduce(bucket, op, applied));
                });
        tensors.forEach(TensorView::writeBack);
    }

    /** Copies the elements of rank 0 to tensors of any type on all ranks, and waits. */
    void broadcast(Communicator comm, List<TensorView> tensors) {
        execute(tensors, DataType.INT8, 1, bucket -> comm.broadcast(bucket, 0));
        tensors.forEach(TensorView::writeBack);
    }

    /** A part of a tensor, and its place in the bucket. */
    private record Part(int offset, ByteBuffer bytes) {}

    /** @param alignment number of bytes, of which the offset of each part is a multiple */
    private void execute(
            List<TensorView> tensors, DataType type, int alignment, Function<DataBuffer, Work> collective) {
        int usable = capacity - capacity % alignment;
        List<Part> parts = new ArrayList<>();
        int used = 0;
        for (TensorView tensor : tensors) {
            ByteBuffer rest = tensor.bytes();
            while (rest.hasRemaining()) {
                used += (alignment - used % alignment) % alignment;
                if (used == usable) {
                    executeBucket(parts, type, collective);
                    parts.clear();
                    used = 0;
                }
                int length = Math.min(rest.remaining(), usable - used);
                parts.add(new Part(used, rest.slice(rest.position(), length)));
                rest.position(rest.position() + length);
                used += length;
            }
        }
        if (!parts.isEmpty()) {
            executeBucket(parts, type, collective);
        }
    }

    private void executeBucket(List<Part> parts, DataType type, Function<DataBuffer, Work> collective) {
        if (memory == null) {
            memory = HostBuffer.allocate(capacity);
        }
        Part last = parts.get(parts.size() - 1);
        int bytes = last.offset() + last.bytes().remaining();
        ByteBuffer shared = memory.asByteBuffer(0, bytes);
        for (Part part : parts) {
            while (shared.position() < part.offset()) {
                shared.put((byte) 0); // old elements would add to the range of a block
            }
            shared.put(part.bytes().duplicate());
        }
        collective.apply(memory.slice(0, bytes / type.bytes(), type)).await();
        for (Part part : parts) {
            part.bytes().put(shared.slice(part.offset(), part.bytes().remaining()));
        }
    }

    /** Frees the shared memory; a later collective allocates it again. */
    @Override
    public void close() {
        if (memory != null) {
            memory.close();
            memory = null;
        }
    }
}
