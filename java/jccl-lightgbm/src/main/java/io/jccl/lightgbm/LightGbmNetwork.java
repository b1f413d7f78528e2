package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.SWIGTYPE_p_void;
import com.microsoft.ml.lightgbm.lightgbmlib;
import io.jccl.Communicator;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces LightGBM's own network by a communicator.
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
 * <p>LightGBM has a network for each thread, so the thread that calls {@link #over} must create data sets, train and
 * close. A process may train on several threads, each with a communicator of its own. Until {@link #close}, nothing
 * else may use the communicator while LightGBM trains.
 *
 * <p>Sums have the same bits as with LightGBM's own network over as many machines, and so have the trees.
 */
public final class LightGbmNetwork implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LightGbmNetwork.class);

    private final int rank;
    private final int size;
    private final Thread owner = Thread.currentThread();
    private final LightGbmOperations operations;
    private boolean closed;

    private LightGbmNetwork(Communicator comm) {
        rank = comm.rank();
        size = comm.size();
        operations = new LightGbmOperations(comm);
    }

    /**
     * Makes LightGBM communicate over a communicator, on this thread until {@link #close}. All ranks must call this; it
     * returns when all have called it.
     *
     * @param comm communicator of two ranks or more; it remains the caller's, who closes it
     * @throws IllegalArgumentException if the communicator has one rank
     * @throws IllegalStateException if the communicator is closed, this thread is virtual or has a network, or
     *     LightGBM's library is not loaded
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
        if (Thread.currentThread().getThreadGroup().getName().equals("VirtualThreads")) { // so named in every JDK
            throw new IllegalStateException(
                    "thread=virtual: expected a platform thread, LightGBM keeps a network for each");
        }
        LightGbmLibrary.requireLoaded();
        NativeLibraries.loadNetwork();
        LightGbmNetwork network = new LightGbmNetwork(comm);
        if (!NativeNetwork.open(network.operations, network.operations.lengths(), network.rank)) {
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

    /**
     * A pointer to a function, to pass to LightGBM. This class extends the class that SWIG generated, because only that
     * class's protected constructor accepts an address.
     */
    private static final class FunctionPointer extends SWIGTYPE_p_void {
        FunctionPointer(long address) {
            super(address, false);
        }
    }

    /**
     * Returns the parameters of a data set or booster for training on all ranks: adds {@code num_machines}, the size of
     * the communicator.
     *
     * @param parameters LightGBM's parameters, such as {@code objective=binary tree_learner=data}
     * @throws IllegalArgumentException if the parameters name machines, another number of machines, or a tree learner
     *     that trains alone
     * @throws IllegalStateException if this is not the thread of {@link #over}
     */
    public String parameters(String parameters) {
        requireOwner();
        if (parameters == null) {
            throw new IllegalArgumentException("parameters=null: expected LightGBM's, such as tree_learner=data");
        }
        return LearnerParameters.forRanks(size, parameters);
    }

    /**
     * Checks the result of a call of LightGBM's API. Does nothing if the call succeeded.
     *
     * @param returnCode the return value of the call
     * @throws io.jccl.PeerFailedException if another rank died; names it
     * @throws io.jccl.JcclException if communication failed otherwise, as {@link io.jccl.Work#await()}; an interrupt of
     *     this thread aborts the communicator
     * @throws LightGbmException if LightGBM failed otherwise
     * @throws IllegalStateException if this is not the thread of {@link #over}; on other threads, LightGBM trains alone
     */
    public void check(int returnCode) {
        requireOwner();
        if (returnCode == 0) {
            return;
        }
        Throwable failure = operations.failure();
        if (failure instanceof RuntimeException thrown) {
            throw thrown;
        }
        if (failure instanceof Error thrown) {
            throw thrown;
        }
        throw new LightGbmException(lightgbmlib.LGBM_GetLastError());
    }

    /**
     * Returns the exception with which communication failed; empty if it did not fail. Code that reports LightGBM's
     * errors in its own way uses this method instead of {@link #check}.
     */
    public Optional<Throwable> failure() {
        return Optional.ofNullable(operations.failure());
    }

    /**
     * Returns the number, the bytes and the time of this network's operations so far. Call it on the thread of
     * {@link #over}.
     */
    public NetworkUsage usage() {
        return operations.usage();
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

    /**
     * Ends LightGBM's use of the communicator on this thread. Frees this object's memory, and leaves the communicator
     * open. A second call does nothing.
     *
     * @throws IllegalStateException if this is not the thread of {@link #over}
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
        operations.close();
        LOG.debug("rank {} of {}: {}", rank, size, usage());
    }

    @Override
    public String toString() {
        return "LightGbmNetwork[rank=" + rank + ", size=" + size + (closed ? ", closed]" : "]");
    }
}
