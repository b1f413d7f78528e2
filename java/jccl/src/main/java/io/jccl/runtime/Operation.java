package io.jccl.runtime;

import io.jccl.Execution;
import io.jccl.Work;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.tuning.Choice;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * One issued operation: a node of its communicator's queue, and the handle that the application holds.
 *
 * <p>The state is written by the thread that carries the operation out, once, and read by any.
 */
abstract class Operation implements Work {

    private static final int ISSUED = 0;
    private static final int DONE = 1;
    private static final int FAILED = 2;

    private static final VarHandle STATE;
    private static final VarHandle FUTURE;
    private static final VarHandle NEXT;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(Operation.class, "state", int.class);
            FUTURE = lookup.findVarHandle(Operation.class, "future", CompletableFuture.class);
            NEXT = lookup.findVarHandle(Operation.class, "next", Operation.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final OperationQueue queue;
    private long executed; // published by state
    private Failure failure; // published by state

    @SuppressWarnings("unused") // through STATE
    private int state;

    @SuppressWarnings("unused") // through NEXT
    private Operation next;

    @SuppressWarnings("unused") // through FUTURE
    private CompletableFuture<Void> future;

    Operation(OperationQueue queue) {
        this.queue = queue;
    }

    /** Whether it works on device memory. */
    boolean isOnDevice() {
        return false;
    }

    /**
     * Takes its place in the sequence; the caller has the right to issue.
     *
     * @throws IllegalStateException if a host buffer that it uses was closed; then nothing is issued
     */
    void enter() {
        pin();
        queue.enqueue(this);
    }

    /** Pins the host buffers that it uses, all or, if one was closed, none; {@link #release} unpins them. */
    void pin() {}

    /** Returns when it is over. */
    void carryOut(long deadline) {
        queue.carryOut(this, deadline);
    }

    /** Sees to it that it proceeds, and returns at once. */
    void look() {
        queue.nudge();
    }

    /** Finds out whether it is over, where that is not known by itself; on the communicator's thread. */
    void find() {}

    /**
     * Carries the operation out on the calling thread.
     *
     * @return the choice that was used, packed, or a status below {@link NativeCommunicator#OK}
     */
    abstract long execute(long timeoutNanos);

    /** What the operation is, for messages: {@code all_reduce(type=float32 op=sum count=1024)}. */
    abstract String describe();

    /** The sequence number that its failure is told with, on the thread that has carried it out. */
    long sequenceOfFailure() {
        return queue.engine().lastEntered();
    }

    /** Lets go of buffers when the operation is over. */
    abstract void release();

    final Operation next() {
        return (Operation) NEXT.getAcquire(this);
    }

    final void link(Operation following) {
        NEXT.setRelease(this, following);
    }

    final boolean isOver() {
        return (int) STATE.getAcquire(this) != ISSUED;
    }

    final void succeed(long choice) {
        executed = choice;
        release(); // what it throws fails the operation
        STATE.setRelease(this, DONE);
    }

    final void fail(Failure cause) {
        failure = cause;
        try {
            release();
        } finally {
            STATE.setRelease(this, FAILED);
        }
    }

    @Override
    public final void await() {
        if (!isOver()) {
            carryOut(OperationQueue.NO_DEADLINE);
        }
        throwIfFailed();
    }

    @Override
    public final void await(Duration timeout) {
        if (Checks.required("timeout", timeout, "at least 1 millisecond").toMillis() < 1) {
            throw new IllegalArgumentException("timeout=" + timeout + ": expected at least 1 millisecond");
        }
        if (!isOver()) {
            carryOut(Deadlines.after(timeout));
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
        look();
        return isOver();
    }

    @Override
    public final CompletableFuture<Void> toFuture() {
        CompletableFuture<Void> mine = new CompletableFuture<>();
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> first = (CompletableFuture<Void>) FUTURE.compareAndExchange(this, null, mine);
        if (first != null) {
            return first.copy();
        }
        queue.completeLater(this);
        return mine.copy(); // a copy, so that the application cannot complete it for others
    }

    /** Ends the future with what its completion threw. */
    final void breakFuture(Throwable problem) {
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> waiting = (CompletableFuture<Void>) FUTURE.getAcquire(this);
        if (waiting != null) {
            waiting.completeExceptionally(problem);
        }
    }

    /** Completes the future if the operation is over; returns whether it is. */
    final boolean completeFuture() {
        find();
        if (!isOver()) {
            return false;
        }
        @SuppressWarnings("unchecked")
        CompletableFuture<Void> waiting = (CompletableFuture<Void>) FUTURE.getAcquire(this);
        if (waiting == null) {
            return true; // nobody wants one: it was looked at for its failure
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
                            + ": how it was carried out is known when it is done; call await() first");
        }
        return new Execution(Choice.algorithm(executed), Choice.protocol(executed), Choice.channels(executed));
    }

    final OperationQueue queue() {
        return queue;
    }
}
