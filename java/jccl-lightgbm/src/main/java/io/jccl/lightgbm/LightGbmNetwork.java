package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.SWIGTYPE_p_void;
import com.microsoft.ml.lightgbm.lightgbmlib;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator in the place of LightGBM's own network.
 *
 * <pre>{@code
 * try (LightGbmNetwork net = LightGbmNetwork.over(comm)) {
 *     String parameters = net.parameters("objective=binary tree_learner=data");
 *     net.check(lightgbmlib.LGBM_DatasetCreateFromMat(…, parameters, …));
 *     net.check(lightgbmlib.LGBM_BoosterCreate(dataset, parameters, booster));
 *     net.check(lightgbmlib.LGBM_BoosterUpdateOneIter(…));
 * }
 * }</pre>
 *
 * <p>LightGBM keeps a network for each thread: the thread that calls {@link #over} creates data sets, trains and closes. A
 * process may train on several threads, each with a communicator of its own. Until {@link #close} nothing else uses the
 * communicator while LightGBM trains.
 *
 * <p>Sums have the same bits as with LightGBM's own network over as many machines, and so have the trees.
 */
public final class LightGbmNetwork implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LightGbmNetwork.class);

    private final Communicator comm;
    private final int rank;
    private final int size;
    private final Thread owner = Thread.currentThread();
    private final FoldOrder halving;
    private final FoldOrder ring;

    private final long[] lengths; // the bytes of each rank's block; the native library writes them
    private final long[] counts; // what a call passes on; copied by it, as the next two
    private final long[] offsets;
    private final long[] recvCounts;
    private final long[] recvOffsets;
    private final long[] blocks; // addresses
    private @Nullable HostBuffer received; // the other ranks' blocks for this rank
    private long addition; // the address of a reducer that adds doubles; 0 if none is known

    private @Nullable Throwable failure;
    private long operations;
    private long bytes;
    private long nanos;
    private boolean closed;

    private LightGbmNetwork(Communicator comm) {
        this.comm = comm;
        rank = comm.rank();
        size = comm.size();
        halving = FoldOrder.halving(rank, size);
        ring = FoldOrder.ring(rank, size);
        lengths = new long[size];
        counts = new long[size];
        offsets = new long[size];
        recvCounts = new long[size];
        recvOffsets = new long[size];
        blocks = new long[size];
    }

    /**
     * Has LightGBM communicate over a communicator, on this thread until {@link #close}. All ranks call this; it returns when
     * all have.
     *
     * @param comm of two ranks or more; it stays the caller's, who closes it
     * @throws IllegalArgumentException if the communicator has one rank
     * @throws IllegalStateException if the communicator is closed, this thread is virtual or has a network, or LightGBM's library
     *     is not loaded
     * @throws io.jccl.JcclException if the communicator has failed, or this library cannot be loaded
     */
    public static LightGbmNetwork over(Communicator comm) {
        if (comm == null) {
            throw new IllegalArgumentException("comm=null: expected a communicator of two ranks or more");
        }
        if (comm.size() < 2) {
            throw new IllegalArgumentException("size=" + comm.size()
                    + ": expected a communicator of two ranks or more; one rank trains with tree_learner=serial");
        }
        if (Thread.currentThread().getThreadGroup().getName().equals("VirtualThreads")) { // their group in every JDK
            throw new IllegalStateException(
                    "thread=virtual: expected a platform thread, LightGBM keeps a network for each");
        }
        LightGbmLibrary.requireLoaded();
        NativeLibraries.loadNetwork();
        LightGbmNetwork network = new LightGbmNetwork(comm);
        if (!NativeNetwork.open(network, network.lengths, network.rank)) {
            throw new IllegalStateException("thread=" + network.owner.getName()
                    + ": expected one without a LightGbmNetwork; close the other one first");
        }
        try {
            comm.barrier().await();
            network.initialize();
            return network;
        } catch (RuntimeException | Error e) {
            NativeNetwork.close();
            throw e;
        }
    }

    private void initialize() {
        int returned = lightgbmlib.LGBM_NetworkInitWithFunctions(
                size,
                rank,
                new FunctionPointer(NativeNetwork.reduceScatterFunction()),
                new FunctionPointer(NativeNetwork.allGatherFunction()));
        if (returned != 0) {
            throw new LightGbmException(lightgbmlib.LGBM_GetLastError());
        }
    }

    /** The classes that SWIG made have no other way to an address. */
    private static final class FunctionPointer extends SWIGTYPE_p_void {
        FunctionPointer(long address) {
            super(address, false);
        }
    }

    /**
     * The parameters of a data set or booster for training on all ranks: with {@code num_machines}, the size of the
     * communicator.
     *
     * @param parameters LightGBM's, such as {@code objective=binary tree_learner=data}
     * @throws IllegalArgumentException if they name machines, another number of them, or a tree learner that trains alone
     * @throws IllegalStateException if this is another thread than that of {@link #over}
     */
    public String parameters(String parameters) {
        requireOwner();
        if (parameters == null) {
            throw new IllegalArgumentException("parameters=null: expected LightGBM's, such as tree_learner=data");
        }
        return LearnerParameters.forRanks(size, parameters);
    }

    /**
     * Does nothing if a call of LightGBM's API succeeded.
     *
     * @param returnCode what the call returned
     * @throws io.jccl.PeerFailedException if another rank died; names it
     * @throws io.jccl.JcclException if communication failed otherwise, as {@link Work#await()}; an interrupt of this thread
     *     aborts the communicator
     * @throws LightGbmException if LightGBM failed otherwise
     * @throws IllegalStateException if this is another thread than that of {@link #over}, on which LightGBM trains alone
     */
    public void check(int returnCode) {
        requireOwner();
        if (returnCode == 0) {
            return;
        }
        if (failure instanceof RuntimeException thrown) {
            throw thrown;
        }
        if (failure instanceof Error thrown) {
            throw thrown;
        }
        throw new LightGbmException(lightgbmlib.LGBM_GetLastError());
    }

    /** What communication failed with, if it did; for code that reports LightGBM's errors in its own way. */
    public Optional<Throwable> failure() {
        return Optional.ofNullable(failure);
    }

    /** What this network has done so far; by the thread of {@link #over}. */
    public NetworkUsage usage() {
        return new NetworkUsage(operations, bytes, Duration.ofNanos(nanos));
    }

    private void requireOwner() {
        if (Thread.currentThread() != owner) {
            throw new IllegalStateException("thread=" + Thread.currentThread().getName() + ": expected thread="
                    + owner.getName() + ", which called LightGbmNetwork.over; on others LightGBM trains alone");
        }
        if (closed) {
            throw new IllegalStateException("the LightGbmNetwork is closed: close it after the last call of LightGBM");
        }
    }

    /** Called by the native library for LightGBM; returns null, or what failed. */
    @SuppressWarnings("unused")
    private @Nullable String reduceScatter(long input, int typeBytes, long output, long reducer) {
        if (failure != null) {
            return message();
        }
        long start = System.nanoTime();
        try {
            long total = setOffsets();
            if (size == 2 && addsDoubles(typeBytes, reducer) && isApart(input, total, output)) {
                addDoubles(input, total, output);
            } else {
                reduceReceived(input, total, typeBytes, output, reducer);
            }
            count(total, start);
            return null;
        } catch (Throwable thrown) {
            failure = thrown;
            return message();
        }
    }

    /** Called by the native library for LightGBM, with this rank's block in place; returns null, or what failed. */
    @SuppressWarnings("unused")
    private @Nullable String allGather(long output) {
        if (failure != null) {
            return message();
        }
        long start = System.nanoTime();
        try {
            long total = setOffsets();
            DataBuffer own = DataBuffer.host(output + offsets[rank], lengths[rank], DataType.INT8, null);
            complete(comm.allGatherV(own, DataBuffer.host(output, total, DataType.INT8, null), lengths));
            count(total, start);
            return null;
        } catch (Throwable thrown) {
            failure = thrown;
            return message();
        }
    }

    /** Sets where each block begins, and returns where the last one ends. */
    private long setOffsets() {
        long total = 0;
        for (int i = 0; i < size; i++) {
            offsets[i] = total;
            total += lengths[i];
        }
        return total;
    }

    private void count(long operationBytes, long start) {
        operations++;
        bytes += operationBytes;
        nanos += System.nanoTime() - start;
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

    /** A sum of two is the same in any order. */
    private void addDoubles(long input, long total, long output) {
        for (int i = 0; i < size; i++) {
            counts[i] = lengths[i] / Double.BYTES;
        }
        DataBuffer send = DataBuffer.host(input, total / Double.BYTES, DataType.FLOAT64, null);
        DataBuffer recv = DataBuffer.host(output, counts[rank], DataType.FLOAT64, null);
        complete(comm.reduceScatterV(send, recv, counts, ReduceOp.SUM));
    }

    /** Receives the other ranks' blocks for this rank, and reduces them in LightGBM's order. */
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

    /** Waits for an operation. However this ends, the operation no longer uses LightGBM's memory. */
    private void complete(Work work) {
        try {
            work.await();
        } catch (InterruptedCommunicationException e) { // the operation may not have begun
            comm.abort();
            work.toFuture().handle((done, failed) -> done).join();
            throw e;
        }
    }

    private HostBuffer received(long minBytes) {
        HostBuffer memory = received;
        if (memory == null || memory.bytes() < minBytes) {
            if (memory != null) {
                memory.close();
            }
            memory = HostBuffer.allocate(Math.max(1 << 16, minBytes + minBytes / 2));
            received = memory;
        }
        return memory;
    }

    private String message() {
        return "communication failed: " + (failure == null ? "" : failure.getMessage());
    }

    /**
     * Ends LightGBM's use of the communicator on this thread. Frees what this holds, and leaves the communicator open. A second
     * call does nothing.
     *
     * @throws IllegalStateException if this is another thread than that of {@link #over}
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        requireOwner();
        closed = true;
        lightgbmlib.LGBM_NetworkFree();
        NativeNetwork.close();
        if (received != null) {
            received.close();
        }
        LOG.debug("rank {} of {}: {}", rank, size, usage());
    }

    @Override
    public String toString() {
        return "LightGbmNetwork[rank=" + rank + ", size=" + size + (closed ? ", closed]" : "]");
    }
}
