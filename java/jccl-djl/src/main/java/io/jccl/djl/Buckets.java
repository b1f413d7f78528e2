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
     * @param wire the format of tensors whose type it supports; others travel as they are
     */
    void allReduce(Communicator comm, List<TensorView> tensors, ReduceOp op, WireFormat wire) {
        tensors.stream()
                .collect(Collectors.groupingBy(
                        TensorView::type, () -> new EnumMap<>(DataType.class), Collectors.toList()))
                .forEach((type, ofType) ->
                        execute(ofType, type, bucket -> comm.allReduce(bucket, op, applied(wire, type))));
        tensors.forEach(TensorView::writeBack);
    }

    private static WireFormat applied(WireFormat wire, DataType type) {
        return WireFormat.supports(type) ? wire : WireFormat.EXACT;
    }

    /** Copies the elements of rank 0 to tensors of any type on all ranks, and waits. */
    void broadcast(Communicator comm, List<TensorView> tensors) {
        execute(tensors, DataType.INT8, bucket -> comm.broadcast(bucket, 0));
        tensors.forEach(TensorView::writeBack);
    }

    private void execute(List<TensorView> tensors, DataType type, Function<DataBuffer, Work> collective) {
        List<ByteBuffer> parts = new ArrayList<>();
        int used = 0;
        for (TensorView tensor : tensors) {
            ByteBuffer rest = tensor.bytes();
            while (rest.hasRemaining()) {
                int length = Math.min(rest.remaining(), capacity - used);
                parts.add(rest.slice(rest.position(), length));
                rest.position(rest.position() + length);
                used += length;
                if (used == capacity) {
                    executeBucket(parts, used, type, collective);
                    parts.clear();
                    used = 0;
                }
            }
        }
        if (used > 0) {
            executeBucket(parts, used, type, collective);
        }
    }

    private void executeBucket(
            List<ByteBuffer> parts, int bytes, DataType type, Function<DataBuffer, Work> collective) {
        if (memory == null) {
            memory = HostBuffer.allocate(capacity);
        }
        ByteBuffer shared = memory.asByteBuffer(0, bytes);
        for (ByteBuffer part : parts) {
            shared.put(part.duplicate());
        }
        collective.apply(memory.slice(0, bytes / type.bytes(), type)).await();
        int at = 0;
        for (ByteBuffer part : parts) {
            int length = part.remaining();
            part.put(shared.slice(at, length));
            at += length;
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
