package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.pytorch.Module;
import org.jspecify.annotations.Nullable;

/**
 * Trains a module on all ranks of a communicator: averages the gradients while the backward pass computes them, as
 * {@code torch.nn.parallel.DistributedDataParallel}.
 *
 * <pre>{@code
 * try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
 *     for (Batch batch : batches) {
 *         optimizer.zero_grad();
 *         loss(module, batch).backward();
 *         ddp.synchronize();
 *         optimizer.step();
 *     }
 * }
 * }</pre>
 *
 * <p>All ranks build the same module and call the same methods in the same order. Building copies the parameters and
 * buffers of rank 0 to all ranks, so afterwards all ranks have the same parameters, bit for bit, after every step.
 *
 * <p>Gradients become views of buckets in shared memory. Once all gradients of a bucket are there, it is averaged while
 * the backward pass continues. {@link #synchronize()} waits for the last bucket. Call it after each backward pass that is
 * not within {@link #noSync()}, on all ranks, before anything reads the gradients.
 *
 * <p>Backward passes of one object must not run at the same time. While it is open, a static set refers to it, because
 * libtorch does not keep Java's hooks alive: close it.
 */
public final class DistributedDataParallel implements AutoCloseable {

    private static final Set<DistributedDataParallel> OPEN = ConcurrentHashMap.newKeySet();

    private final ModuleState state;
    private final boolean findUnusedParameters;
    private final boolean broadcastBuffers;
    private final CommHook commHook;
    private final List<ReducedParameter> parameters; // in the order of their buckets
    private final List<GradientBucket> buckets;
    private final @Nullable BufferBroadcast bufferBroadcast; // null if there is nothing to broadcast

    // Guarded by this, because hooks are called by threads of libtorch.
    private Communicator comm;
    private final List<ReducedParameter> arrived = new ArrayList<>(); // autograd adds their gradients
    private int nextBucket; // the first that is not issued
    private int noSyncs;
    private @Nullable Throwable failure; // of a hook: libtorch would keep only its text
    private boolean hookFailed; // the failure is that of a CommHook
    private boolean stepEnded; // all ranks have reached the end of the last step, with success or without
    private boolean averaged; // this rank has all averages, but does not know whether all other ranks have
    private long steps;
    private boolean closed;

    DistributedDataParallel(DistributedDataParallelBuilder builder) {
        this.comm = builder.comm;
        this.findUnusedParameters = builder.findUnusedParameters;
        this.commHook = builder.commHook;
        this.state = ModuleState.of(
                builder.module,
                comm,
                "options bucketBytes=" + builder.bucketBytes + " findUnusedParameters=" + findUnusedParameters
                        + " broadcastBuffers=" + builder.broadcastBuffers);
        this.broadcastBuffers = builder.broadcastBuffers && !state.buffers().isEmpty();
        state.broadcast(comm);
        ComputeThreads.limit(comm);
        this.buckets = GradientBucket.divide(state.trainable(), builder.bucketBytes);
        buckets.forEach(bucket -> bucket.register(comm));
        this.parameters =
                buckets.stream().flatMap(bucket -> bucket.parameters().stream()).toList();
        this.bufferBroadcast = broadcastBuffers ? new BufferBroadcast(state.buffers()) : null;
        parameters.forEach(parameter -> parameter.listen(() -> arrived(parameter)));
        OPEN.add(this);
    }

    /** Builds with the default options. All ranks must call this. */
    public static DistributedDataParallel over(Communicator comm, Module module) {
        return builder(comm, module).build();
    }

    /**
     * Returns a builder.
     *
     * @param comm the ranks that train
     * @param module the module that this rank trains, with its parameters in host memory or on the GPU of the communicator
     */
    public static DistributedDataParallelBuilder builder(Communicator comm, Module module) {
        return new DistributedDataParallelBuilder(comm, module);
    }

    /** Called before autograd adds a gradient. Throws nothing, because libtorch would lose the exception. */
    private synchronized void arrived(ReducedParameter parameter) {
        parameter.markUsed();
        if (noSyncs > 0 || failure != null || closed) {
            return;
        }
        try {
            Tensors.inScope(() -> {
                collect(false);
                if (parameter.stage() != ReducedParameter.Stage.WAITING) {
                    throw new IllegalStateException(parameter.name()
                            + ": got a second gradient before synchronize(); call synchronize() after each backward"
                            + " pass, or run backward passes that only accumulate gradients within noSync()");
                }
                parameter.arrive();
                arrived.add(parameter);
            });
        } catch (Throwable e) {
            failure = e;
        }
    }

    /**
     * Moves gradients that autograd has added to their buckets, and issues complete buckets in order.
     *
     * @param all true if the backward pass has ended, so that all have been added
     */
    private void collect(boolean all) {
        for (int i = 0; i < arrived.size(); i++) {
            if (all || arrived.get(i).isAdded()) {
                arrived.remove(i--).moveToBucket();
            }
        }
        while (nextBucket < buckets.size() && buckets.get(nextBucket).isComplete()) {
            issue(buckets.get(nextBucket++));
        }
    }

    private void issue(GradientBucket bucket) {
        try {
            bucket.issue(comm, commHook);
        } catch (Throwable e) {
            hookFailed = true;
            abort(e);
            throw e;
        }
    }

    /** Ends the waits of ranks that have issued operations which this rank has not. */
    private void abort(Throwable cause) {
        if (comm.failure().isEmpty()) {
            comm.abort("DistributedDataParallel could not issue the operations of a step: " + cause);
        }
    }

    /**
     * Waits until the gradients of all parameters are the averages over all ranks. All ranks must call this after the
     * last backward pass of a step, and before they read or change gradients.
     *
     * <p>A gradient of a parameter that no rank has used in the step stays as it was, undefined or not.
     *
     * @throws IllegalStateException on all ranks, if a parameter got no gradient on some rank although unused parameters
     *     were not announced; on a rank whose backward passes were not followed by this call each, and then on the other
     *     ranks too
     * @throws JcclException if the communicator fails; see {@link #recover}
     */
    public synchronized void synchronize() {
        requireOpen();
        if (noSyncs > 0) {
            throw new IllegalStateException("noSync=" + noSyncs
                    + ": expected synchronize() outside of noSync(); close it before the last backward pass of a step");
        }
        stepEnded = false;
        try {
            Tensors.withoutGradient(this::synchronizeGradients);
        } catch (RuntimeException | Error e) {
            if (!stepEnded) {
                abort(e);
            }
            throw e;
        } finally {
            arrived.clear();
            nextBucket = 0;
            failure = null;
            hookFailed = false;
            buckets.forEach(GradientBucket::reset);
        }
    }

    private void synchronizeGradients() {
        if (hookFailed) {
            rethrow(failure); // the cause of the abort
        }
        List<ReducedParameter> filled = new ArrayList<>();
        Throwable local = failure;
        collect(true);
        for (ReducedParameter parameter : parameters) {
            if (parameter.stage() == ReducedParameter.Stage.WAITING) {
                parameter.fill();
                filled.add(parameter);
            }
        }
        collect(true);
        if (nextBucket < buckets.size()) {
            rethrow(local); // a hook has failed between two states
        }
        if (bufferBroadcast != null) {
            bufferBroadcast.issue(comm);
        }
        StepFlags flags = new StepFlags(parameters, comm, local != null, !filled.isEmpty() && !findUnusedParameters);
        Work agreement = comm.allReduce(flags.buffer(), ReduceOp.BOR);
        buckets.forEach(GradientBucket::await);
        if (bufferBroadcast != null) {
            bufferBroadcast.complete(comm);
        }
        if (findUnusedParameters) {
            agreement.await();
            for (ReducedParameter parameter : filled) {
                parameter.settle(flags.isUsed(parameter));
            }
            agreement = comm.barrier();
        } else {
            filled.forEach(parameter -> parameter.settle(true));
        }
        averaged = local == null;
        agreement.await();
        averaged = false;
        stepEnded = true;
        if (local != null) {
            rethrow(local);
        }
        flags.requireSuccess(filled.isEmpty() ? null : filled.get(0));
        steps++;
    }

    /** Throws any exception: hooks written in Kotlin or Scala throw checked ones, too. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void rethrow(@Nullable Throwable failure) throws E {
        throw (E) failure;
    }

    /**
     * Begins a part of the program in which backward passes only accumulate this rank's gradients:
     *
     * <pre>{@code
     * try (DistributedDataParallel.NoSync accumulating = ddp.noSync()) {
     *     loss(module, first).backward();
     * }
     * loss(module, second).backward();
     * ddp.synchronize(); // averages the sums of both
     * }</pre>
     *
     * @throws IllegalStateException if a backward pass has ended without {@link #synchronize()}
     */
    public synchronized NoSync noSync() {
        requireOpen();
        if (nextBucket > 0 || !arrived.isEmpty() || failure != null) {
            throw new IllegalStateException(
                    "expected noSync() after synchronize(); the gradients of the last backward pass are being averaged");
        }
        noSyncs++;
        return new NoSync();
    }

    /** A part of the program without averaging; {@link #close} ends it. */
    public final class NoSync implements AutoCloseable {

        private boolean ended;

        private NoSync() {}

        @Override
        public void close() {
            synchronized (DistributedDataParallel.this) {
                if (!ended) {
                    ended = true;
                    noSyncs--;
                }
            }
        }
    }

    /**
     * Checks that all ranks have the same parameters, and the same buffers if these are broadcast. All ranks must call
     * this.
     *
     * @throws IllegalArgumentException on all ranks if a value differs; the message names the first that does
     */
    public synchronized void requireEqualParameters() {
        requireOpen();
        state.requireSameValues(comm, broadcastBuffers);
    }

    /**
     * Continues with the ranks that remain after a failure. All remaining ranks must call this.
     *
     * <pre>{@code
     * try {
     *     trainOneStep();
     * } catch (PeerFailedException e) {
     *     Communicator rest = comm.shrink(e.failedRanks());
     *     comm.close();
     *     comm = rest;
     *     ddp.recover(comm, optimizer::step);
     * }
     * }</pre>
     *
     * <p>If a rank has taken the step that failed, or if all ranks have the averaged gradients for it, the ranks that have
     * not taken the step take it here. Otherwise no rank takes it, and its gradients are discarded. So afterwards all
     * ranks have the same parameters and the same state of the optimizer. A rank takes a step when {@link #synchronize()}
     * returns, so call {@code optimizer.step()} directly after it, and this method before anything changes gradients. If this method throws because more ranks have died, call
     * it again with a communicator of the remaining ranks.
     *
     * <p>Ranks that join have no state. Close this object, build a new one on all ranks, and send the optimizer's state to
     * them.
     *
     * @param rest the ranks that remain
     * @param step takes the optimizer's step: {@code optimizer::step}
     * @throws IllegalStateException on all ranks if their steps do not belong together; the message names the first rank
     *     whose steps do not
     */
    public synchronized void recover(Communicator rest, Runnable step) {
        requireOpen();
        if (rest == null || step == null) {
            throw new IllegalArgumentException("rest=" + rest + " step=" + step
                    + ": expected the communicator of the remaining ranks, and the optimizer's step");
        }
        long target = stepsToTake(rest);
        if (steps < target) {
            step.run();
            steps = target;
        }
        averaged = false;
        comm = rest;
        buckets.forEach(bucket -> bucket.register(comm));
        Tensors.withoutGradient(() -> {
            parameters.forEach(ReducedParameter::discard);
            if (bufferBroadcast != null) {
                bufferBroadcast.issue(comm);
                bufferBroadcast.complete(comm);
            }
        });
    }

    private long stepsToTake(Communicator rest) {
        long[] mine = {steps, averaged ? 1 : 0};
        long[] all = new long[mine.length * rest.size()];
        rest.allGather(DataBuffer.of(mine), DataBuffer.of(all)).await();
        return stepsToTake(all);
    }

    /**
     * Returns the number of steps from which all ranks continue. If any rank has taken a step, all other ranks have at least
     * the averages for it, because a step ends with an operation of all ranks.
     *
     * @param positions for each rank the number of steps that it has taken, and 1 if it has the averages for the next
     */
    static long stepsToTake(long[] positions) {
        long most = 0;
        for (int rank = 0; rank < positions.length / 2; rank++) {
            most = Math.max(most, positions[2 * rank]);
        }
        boolean next = true; // all ranks have the averages for the step after `most`
        for (int rank = 0; rank < positions.length / 2; rank++) {
            long reachable = positions[2 * rank] + positions[2 * rank + 1];
            if (reachable < most) {
                throw new IllegalStateException("rank=" + rank + " steps=" + positions[2 * rank] + ": expected " + most
                        + "; every rank recovers with the object that it has trained with");
            }
            next &= reachable > most;
        }
        return next ? most + 1 : most;
    }

    /** Returns the communicator of the ranks that train: that of the builder, or of the last {@link #recover}. */
    public synchronized Communicator communicator() {
        return comm;
    }

    /** Returns the number of averaged steps, the same on all ranks after a step and after {@link #recover}. */
    public synchronized long steps() {
        return steps;
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("closed: expected an open DistributedDataParallel; build a new one");
        }
    }

    /**
     * Removes the hooks and frees the buckets. Gradients keep their values. Operations in flight are not awaited. Does not
     * close the communicator.
     */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        OPEN.remove(this);
        Tensors.withoutGradient(() -> buckets.forEach(GradientBucket::close));
        if (bufferBroadcast != null) {
            bufferBroadcast.close();
        }
    }
}
