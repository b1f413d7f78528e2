package io.jccl.lightgbm;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The two operations with which LightGBM trains, over a communicator. The native library calls them on the thread that
 * trains, with addresses of LightGBM's memory, after it has filled {@link #lengths()}.
 *
 * <p>Both return null, or the text of a failure. After a failure they only return its text.
 */
final class LightGbmOperations implements AutoCloseable {

    private static final int MIN_RECEIVED_BYTES = 1 << 16;

    private final Communicator comm;
    private final int rank;
    private final int size;
    private final FoldOrder halving;
    private final FoldOrder ring;

    private final long[] lengths; // size of each rank's block in bytes
    private final long[] offsets; // offset of each rank's block in bytes
    // Arguments of the current operation. The next one reuses the arrays, because the communicator copies them when it
    // issues an operation.
    private final long[] counts;
    private final long[] recvCounts;
    private final long[] recvOffsets;
    private final long[] blocks; // by rank: address of its contribution to this rank's block
    private @Nullable HostBuffer received; // the other ranks' blocks for this rank
    private long addition; // address of a reducer that adds doubles; 0 if none is known

    private @Nullable Throwable failure;
    private long operations;
    private long bytes;
    private long nanos;

    LightGbmOperations(Communicator comm) {
        this.comm = comm;
        rank = comm.rank();
        size = comm.size();
        halving = FoldOrder.halving(rank, size);
        ring = FoldOrder.ring(rank, size);
        lengths = new long[size];
        offsets = new long[size];
        counts = new long[size];
        recvCounts = new long[size];
        recvOffsets = new long[size];
        blocks = new long[size];
    }

    /** Returns the size in bytes of each rank's block in the next operation, in rank order. */
    long[] lengths() {
        return lengths;
    }

    /** Returns the first failure, or null. */
    @Nullable
    Throwable failure() {
        return failure;
    }

    /** Returns the number, the bytes and the time of the operations so far. */
    NetworkUsage usage() {
        return new NetworkUsage(operations, bytes, Duration.ofNanos(nanos));
    }

    /**
     * Reduces all ranks' input, and writes this rank's block of the result.
     *
     * @param input this rank's contribution to every block, one block after the other; overwritten
     * @param typeBytes size of an element
     * @param output receives this rank's block; may lie in the input
     * @param reducer address of the function that accumulates elements
     */
    @Nullable
    String reduceScatter(long input, int typeBytes, long output, long reducer) {
        return run(() -> {
            long total = setOffsets();
            if (size == 2 && addsDoubles(typeBytes, reducer) && isApart(input, total, output)) {
                addDoubles(input, total, output);
            } else {
                reduceReceived(input, total, typeBytes, output, reducer);
            }
            return total;
        });
    }

    /**
     * Copies all ranks' blocks to every rank.
     *
     * @param output blocks of all ranks, one after the other; at the call it contains this rank's block
     */
    @Nullable
    String allGather(long output) {
        return run(() -> {
            long total = setOffsets();
            DataBuffer own = DataBuffer.host(output + offsets[rank], lengths[rank], DataType.INT8, null);
            complete(comm.allGatherV(own, DataBuffer.host(output, total, DataType.INT8, null), lengths));
            return total;
        });
    }

    /**
     * Runs an operation, which returns the bytes to count. Counts the operation, or stores the exception that it
     * throws.
     */
    private @Nullable String run(LongSupplier operation) {
        if (failure == null) {
            long start = System.nanoTime();
            try {
                bytes += operation.getAsLong();
                operations++;
                nanos += System.nanoTime() - start;
                return null;
            } catch (Throwable thrown) { // no exception may reach LightGBM
                failure = thrown;
            }
        }
        return "communication failed: "
                + (failure instanceof JcclException ours ? ours.getMessage() : failure.toString());
    }

    /** Computes where each block begins; returns where the last one ends. */
    private long setOffsets() {
        long total = 0;
        for (int i = 0; i < size; i++) {
            offsets[i] = total;
            total += lengths[i];
        }
        return total;
    }

    private boolean addsDoubles(int typeBytes, long reducer) {
        if (typeBytes != Double.BYTES) {
            return false;
        }
        if (reducer != addition && NativeNetwork.addsDoubles(reducer)) {
            addition = reducer;
        }
        return reducer == addition;
    }

    private boolean isApart(long input, long total, long output) {
        return output >= input + total || output + lengths[rank] <= input;
    }

    /** Adds doubles by the communicator's reduce-scatter. Used with two ranks, where a sum is the same in any order. */
    private void addDoubles(long input, long total, long output) {
        for (int i = 0; i < size; i++) {
            counts[i] = lengths[i] / Double.BYTES;
        }
        DataBuffer send = DataBuffer.host(input, total / Double.BYTES, DataType.FLOAT64, null);
        DataBuffer recv = DataBuffer.host(output, counts[rank], DataType.FLOAT64, null);
        complete(comm.reduceScatterV(send, recv, counts, ReduceOp.SUM));
    }

    /** Receives the other ranks' contributions to this rank's block, and reduces them in LightGBM's order. */
    private void reduceReceived(long input, long total, int typeBytes, long output, long reducer) {
        long own = lengths[rank];
        HostBuffer memory = received(own * size);
        for (int i = 0; i < size; i++) {
            counts[i] = i == rank ? 0 : lengths[i];
            recvCounts[i] = i == rank ? 0 : own;
            recvOffsets[i] = i * own;
            blocks[i] = i == rank ? input + offsets[i] : memory.address() + recvOffsets[i];
        }
        DataBuffer send = DataBuffer.host(input, total, DataType.INT8, null);
        complete(comm.allToAllV(send, counts, offsets, memory.as(DataType.INT8), recvCounts, recvOffsets));
        FoldOrder order = FoldOrder.isByHalving(size, total) ? halving : ring;
        NativeNetwork.fold(reducer, typeBytes, blocks, order.steps(), own);
        NativeNetwork.move(blocks[order.result()], output, own);
    }

    private HostBuffer received(long minBytes) {
        if (received == null || received.bytes() < minBytes) {
            close();
            received = HostBuffer.allocate(Math.max(MIN_RECEIVED_BYTES, minBytes + minBytes / 2));
        }
        return received;
    }

    /** Waits for an operation. However this method ends, the operation no longer uses LightGBM's memory. */
    private void complete(Work work) {
        try {
            work.await();
        } catch (InterruptedCommunicationException e) { // the operation may not have begun
            comm.abort("a thread that waits was interrupted");
            work.toFuture().handle((done, failed) -> done).join();
            throw e;
        }
    }

    /** Frees the memory for received contributions. */
    @Override
    public void close() {
        if (received != null) {
            received.close();
        }
    }
}
