package io.jccl.runtime;

import io.jccl.Execution;
import io.jccl.JcclException;
import io.jccl.Work;
import io.jccl.tuning.Choice;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * One issued operation: a node of its communicator's queue, and the handle that the application holds. It contains the
 * state, the future and the failure; its {@link Backend} executes it.
 *
 * <p>The thread that executes the operation writes the state once. Any thread reads it.
 */
public non-sealed class OperationWork implements Work {

    private static final int ISSUED = 0;
    private static final int DONE = 1;
    private static final int FAILED = 2;

    private static final VarHandle STATE;
    private static final VarHandle FUTURE;
    private static final VarHandle NEXT;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(OperationWork.class, "state", int.class);
            FUTURE = lookup.findVarHandle(OperationWork.class, "future", CompletableFuture.class);
            NEXT = lookup.findVarHandle(OperationWork.class, "next", OperationWork.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Backend backend;
    private final OperationCall call;
    private final long deadline;
    private long issuedNanos; // time of issue; 0 if no operation in the queue was ahead of this one
    private int executed; // algorithm, protocol and channels of the packed choice; published by state
    private Failure failure; // published by state

    @SuppressWarnings("unused") // accessed through STATE
    private int state;

    @SuppressWarnings("unused") // accessed through NEXT
    private OperationWork next;

    @SuppressWarnings("unused") // accessed through FUTURE
    private CompletableFuture<Void> future;

    /**
     * @param deadline time by which the operation must be over; {@link Deadlines#NONE} for the communicator's time-out
     */
    OperationWork(Backend backend, OperationCall call, long deadline) {
        this.backend = backend;
        this.call = call;
        this.deadline = deadline;
    }

    final long deadline() {
        return deadline;
    }

    final OperationCall call() {
        return call;
    }

    final Backend backend() {
        return backend;
    }

    final String describe() {
        return backend.describe(this);
    }

    /** Notes that the operation waits in the queue behind others, and was issued at {@code nanos}. */
    final void queued(long nanos) {
        issuedNanos = nanos;
    }

    /** Returns the time at which the operation was issued, if it then waited in the queue behind others; else 0. */
    final long issuedNanos() {
        return issuedNanos;
    }

    final OperationWork next() {
        return (OperationWork) NEXT.getAcquire(this);
    }

    final void link(OperationWork following) {
        NEXT.setRelease(this, following);
    }

    final boolean isOver() {
        return (int) STATE.getAcquire(this) != ISSUED;
    }

    final void succeed(long choice) {
        executed = (int) choice;
        backend.release(this); // an exception from here fails the operation
        STATE.setRelease(this, DONE);
    }

    final void fail(Failure cause) {
        failure = cause;
        try {
            backend.release(this);
        } finally {
            STATE.setRelease(this, FAILED);
        }
    }

    @Override
    public final void await() {
        if (!isOver()) {
            backend.await(this, Deadlines.NONE);
        }
        throwIfFailed();
    }

    @Override
    public final void await(Duration timeout) {
        Checks.timeout(timeout);
        if (!isOver()) {
            backend.await(this, Deadlines.after(timeout));
        }
        throwIfFailed();
    }

    private void throwIfFailed() {
        if ((int) STATE.getAcquire(this) == FAILED) {
            throw failure.exception();
        }
    }

    @Override
    public final boolean isDone() {
        if (isOver()) {
            return true;
        }
        backend.poll(this);
        return isOver();
    }

    @Override
    public final boolean cancel() {
        boolean isPending = !isDone();
        if (isPending) {
            backend.queue().cancel(this);
        }
        return isPending;
    }

    @Override
    public final CompletableFuture<Void> toFuture() {
        CompletableFuture<Void> mine = new CallerFuture<>();
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> first = (CompletableFuture<Void>) FUTURE.compareAndExchange(this, null, mine);
        if (first != null) {
            return copy(first);
        }
        try {
            backend.queue().completeLater(this);
        } catch (JcclException | Error noThreadOrMemory) {
            FUTURE.compareAndSet(this, mine, null); // nothing would complete this future
            throw noThreadOrMemory;
        }
        return copy(mine); // a copy, so that the application cannot complete it for others
    }

    private OperationFuture copy(CompletableFuture<Void> original) {
        OperationFuture copy = new OperationFuture(this);
        original.whenComplete((nothing, problem) -> copy.end(problem));
        return copy;
    }

    /** Called by a thread that has polled this operation and will not poll again soon. */
    final void handOver() {
        backend.queue().handOver();
    }

    /** Returns the exception of an operation that has failed; null if it has succeeded. */
    final Throwable failureOrNull() {
        return (int) STATE.getAcquire(this) == FAILED ? failure.exception() : null;
    }

    /** Completes the future with the exception that a first attempt to complete it has thrown. */
    final void breakFuture(Throwable problem) {
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> waiting = (CompletableFuture<Void>) FUTURE.getAcquire(this);
        if (waiting != null) {
            waiting.completeExceptionally(problem);
        }
    }

    /** Completes the future if the operation is over; returns true if it is. */
    final boolean completeFuture() {
        backend.refresh(this);
        if (!isOver()) {
            return false;
        }
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> waiting = (CompletableFuture<Void>) FUTURE.getAcquire(this);
        if (waiting == null) {
            return true; // there is no future: this call was needed only to refresh the state
        }
        if (failure == null) {
            waiting.complete(null);
        } else {
            waiting.completeExceptionally(failure.exception());
        }
        return true;
    }

    @Override
    public final Execution execution() {
        int now = (int) STATE.getAcquire(this);
        if (now != DONE) {
            throw new IllegalStateException(
                    "operation=" + describe() + " state=" + (now == ISSUED ? "issued" : "failed")
                            + ": how it was executed is known when it is done; call await() first");
        }
        return new Execution(Choice.algorithm(executed), Choice.protocol(executed), Choice.channels(executed));
    }
}
