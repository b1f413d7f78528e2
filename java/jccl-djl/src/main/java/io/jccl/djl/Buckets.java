package io.jccl.djl;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Shared memory through which tensors are reduced and broadcast: the ranks of a host use it in place. Tensors of one
 * type fill it one after the other, small ones together, and a large one in parts.
 *
 * <p>A collective never sees memory of a tensor, so that tensors may be closed whenever it ends. When one fails, a
 * tensor holds its own elements, or in parts of a bucket the results.
 */
final class Buckets implements AutoCloseable {

    private final int capacity;
    private @Nullable HostBuffer memory;

    /**
     * @param bytes of a bucket, a multiple of 8
     */
    Buckets(int bytes) {
        this.capacity = bytes;
    }

    /** All-reduces the elements of tensors in place, and waits. Ranks pass tensors of the same types and sizes. */
    void allReduce(Communicator comm, List<TensorView> tensors, ReduceOp op) {
        tensors.stream()
                .collect(Collectors.groupingBy(
                        TensorView::type, () -> new EnumMap<>(DataType.class), Collectors.toList()))
                .forEach((type, ofType) -> execute(ofType, type, bucket -> comm.allReduce(bucket, op)));
        tensors.forEach(TensorView::writeBack);
    }

    /** Gives tensors of any type the elements that they have on rank 0, and waits. */
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

    /** Frees the shared memory; a later collective takes new. */
    @Override
    public void close() {
        if (memory != null) {
            memory.close();
            memory = null;
        }
    }
}
