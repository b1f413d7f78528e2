package io.jccl.djl;

import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * All-reduces tensors through a bucket: shared memory that the ranks of a host reduce in place. Tensors of one type
 * fill buckets one after the other, small ones together, and a large one in parts.
 *
 * <p>A collective never sees memory of a tensor, so that the tensors may be closed whenever it ends, and a tensor holds
 * either its own elements or reduced ones, in parts of a bucket, when a collective fails.
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
        if (memory == null) {
            memory = HostBuffer.allocate(capacity);
        }
        tensors.stream()
                .collect(Collectors.groupingBy(
                        TensorView::type, () -> new EnumMap<>(DataType.class), Collectors.toList()))
                .forEach((type, ofType) -> allReduce(comm, ofType, type, op));
        tensors.forEach(TensorView::writeBack);
    }

    private void allReduce(Communicator comm, List<TensorView> tensors, DataType type, ReduceOp op) {
        List<ByteBuffer> bucket = new ArrayList<>();
        int used = 0;
        for (TensorView tensor : tensors) {
            ByteBuffer rest = tensor.bytes();
            while (rest.hasRemaining()) {
                int length = Math.min(rest.remaining(), capacity - used);
                bucket.add(rest.slice(rest.position(), length));
                rest.position(rest.position() + length);
                used += length;
                if (used == capacity) {
                    allReduceBucket(comm, bucket, used, type, op);
                    bucket.clear();
                    used = 0;
                }
            }
        }
        if (used > 0) {
            allReduceBucket(comm, bucket, used, type, op);
        }
    }

    private void allReduceBucket(Communicator comm, List<ByteBuffer> parts, int bytes, DataType type, ReduceOp op) {
        ByteBuffer shared = memory.asByteBuffer(0, bytes);
        for (ByteBuffer part : parts) {
            shared.put(part.duplicate());
        }
        comm.allReduce(memory.slice(0, bytes / type.bytes(), type), op).await();
        int at = 0;
        for (ByteBuffer part : parts) {
            int length = part.remaining();
            part.put(shared.slice(at, length));
            at += length;
        }
    }

    /** Frees the shared memory; a later all-reduce takes new. */
    @Override
    public void close() {
        if (memory != null) {
            memory.close();
            memory = null;
        }
    }
}
