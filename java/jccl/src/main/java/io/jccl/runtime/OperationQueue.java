package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeEngine;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The operations of one communicator in the order of their issue, and the rule that one thread at a time carries them out.
 *
 * <p>Issuing appends to a linked list and does nothing else. Whoever waits first takes the right to run and carries out
 * what is in the list, up to and including its own operation, on its own thread: a loop of {@code issue, await} hands
 * nothing from thread to thread. {@link Executor} carries out what nobody waits for.
 *
 * <p>The list has a sentinel: {@code head} is the operation carried out last, touched only by the thread that has the right
 * to run; {@code tail} is the operation issued last, touched only by the thread that issues.
 */
final class OperationQueue {

    static final long NO_DEADLINE = 0;

    private static final long MIN_NAP_NANOS = 50_000;
    private static final long MAX_NAP_NANOS = 20_000_000;

    private static final VarHandle RUNNING;
    private static final VarHandle ISSUING;
    private static final VarHandle IN_FLIGHT;
    private static final VarHandle SLEEPING;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            RUNNING = lookup.findVarHandle(OperationQueue.class, "running", int.class);
            ISSUING = lookup.findVarHandle(OperationQueue.class, "issuing", int.class);
            SLEEPING = lookup.findVarHandle(OperationQueue.class, "sleeping", int.class);
            IN_FLIGHT = lookup.findVarHandle(OperationQueue.class, "inFlight", Operation.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final NativeEngine engine;
    private final FailureState failures;
    private final long timeoutNanos;
    private final Executor executor;

    @SuppressWarnings("unused") // through RUNNING
    private int running;

    @SuppressWarnings("unused") // through ISSUING
    private int issuing;

    @SuppressWarnings("unused") // through SLEEPING
    private int sleeping; // how many threads are in the queue of sleepers

    private final Queue<Thread> sleepers = new ConcurrentLinkedQueue<>();

    private Operation head;
    private Operation tail;
    private Operation inFlight; // for the watch, through IN_FLIGHT

    OperationQueue(String name, NativeEngine engine, FailureState failures, long timeoutNanos) {
        this.engine = engine;
        this.failures = failures;
        this.timeoutNanos = timeoutNanos;
        this.head = new Sentinel(this);
        this.tail = head;
        this.executor = new Executor(name, this);
    }

    void start() {
        executor.start();
    }

    NativeEngine engine() {
        return engine;
    }

    /** Takes the right to issue; {@link #endIssue} gives it back. */
    void beginIssue() {
        if (!tryBeginIssue()) {
            throw new IllegalStateException(
                    "communicator=" + executor.name() + ": another thread issues an operation, or "
                            + "this call comes from the body of a group; issue from one thread at a time, and inside of a group "
                            + "use the Group object");
        }
    }

    boolean tryBeginIssue() {
        return ISSUING.compareAndSet(this, 0, 1);
    }

    void endIssue() {
        ISSUING.setRelease(this, 0);
    }

    /** Gives an operation its place; the caller has the right to issue. */
    Operation append(Operation operation) {
        operation.enter();
        return operation;
    }

    /** Appends an operation to the list; the caller has the right to issue. */
    void enqueue(Operation operation) {
        tail.link(operation);
        tail = operation;
        executor.wakeIfAsleep();
    }

    /** Returns when {@code operation} is over, and carries it out if no other thread does. */
    void carryOut(Operation operation, long deadline) {
        while (!operation.isOver()) {
            if (!tryCarryOut(operation, deadline)) {
                awaitOthers(operation, deadline);
            }
        }
    }

    private boolean tryCarryOut(Operation operation, long deadline) {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            return false;
        }
        try {
            runUpTo(operation, deadline);
        } finally {
            giveBack();
        }
        return true;
    }

    /** Gives back the right to run. */
    private void giveBack() {
        RUNNING.setRelease(this, 0);
        wakeSleepers();
    }

    /**
     * While another thread has the right to run, until the operation is over or this thread has carried it out. Who runs
     * wakes this thread; the naps only bound what a signal costs that crosses with going to sleep, because whoever runs
     * looks for sleepers without a fence.
     */
    private void awaitOthers(Operation operation, long deadline) {
        beginSleep();
        try {
            long nap = MIN_NAP_NANOS;
            while (!operation.isOver() && !tryCarryOut(operation, deadline)) {
                if (deadline != NO_DEADLINE && System.nanoTime() - deadline >= 0) {
                    failures.timedOut(operation.describe());
                }
                LockSupport.parkNanos(this, nap);
                nap = Math.min(2 * nap, MAX_NAP_NANOS);
            }
        } finally {
            endSleep();
        }
    }

    /** Naps beside a thread that has had the right to run for long, at most until an operation of its ends. */
    void napBesideOthers() {
        beginSleep();
        try {
            if ((int) RUNNING.getVolatile(this) != 0) {
                LockSupport.parkNanos(this, MAX_NAP_NANOS);
            }
        } finally {
            endSleep();
        }
    }

    private void beginSleep() {
        sleepers.add(Thread.currentThread());
        SLEEPING.getAndAdd(this, 1);
    }

    private void endSleep() {
        SLEEPING.getAndAdd(this, -1);
        sleepers.remove(Thread.currentThread());
    }

    /** After each operation, and when the right to run is given back: a look at one field where nobody sleeps. */
    private void wakeSleepers() {
        if ((int) SLEEPING.getOpaque(this) != 0) {
            sleepers.forEach(LockSupport::unpark);
        }
    }

    /** What a look at the list came to. */
    enum Look {
        /** There was nothing to carry out. */
        NOTHING,
        /** Operations were carried out. */
        CARRIED_OUT,
        /** Another thread has the right to run. */
        OTHERS_RUN
    }

    /** Carries out everything that is in the list now. */
    Look carryOutAll() {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            return Look.OTHERS_RUN;
        }
        try {
            return runUpTo(null, NO_DEADLINE) ? Look.CARRIED_OUT : Look.NOTHING;
        } finally {
            giveBack();
        }
    }

    /** Returns when everything that was issued is over; the caller has the right to issue. */
    void drain() {
        Operation last = tail;
        if (!(last instanceof Sentinel)) {
            carryOut(last, NO_DEADLINE);
        }
    }

    private boolean runUpTo(Operation last, long deadline) {
        boolean any = false;
        Operation done = head;
        while (last == null || !last.isOver()) {
            Operation operation = done.next();
            if (operation == null) {
                break;
            }
            run(operation, deadline);
            done.link(null); // a handle that the application keeps must not keep all later ones
            head = operation;
            done = operation;
            any = true;
            wakeSleepers();
        }
        return any;
    }

    private void run(Operation operation, long deadline) {
        Failure failure = failures.current();
        if (failure != null) {
            operation.fail(failure);
            return;
        }
        IN_FLIGHT.setOpaque(this, operation);
        long outcome;
        try {
            outcome = operation.execute(deadline == NO_DEADLINE ? timeoutNanos : Deadlines.left(deadline));
        } catch (RuntimeException | OutOfMemoryError e) {
            operation.fail(failures.broken(operation.describe(), e));
            return;
        }
        if (outcome >= NativeCommunicator.OK) {
            operation.succeed(outcome);
        } else {
            operation.fail(failures.ended((int) outcome, operation.describe(), operation.sequenceOfFailure()));
        }
    }

    /** The operation that was begun last; it may be over. */
    Operation inFlight() {
        return (Operation) IN_FLIGHT.getOpaque(this);
    }

    void nudge() {
        executor.wakeIfNapping();
    }

    void completeLater(Operation operation) {
        executor.completeLater(operation);
    }

    /**
     * Takes the right to run for ever, so that no thread is inside of the engine any more.
     *
     * @return whether it was had before the deadline
     */
    boolean stop(long deadline) {
        executor.stop();
        while (!RUNNING.compareAndSet(this, 0, 1)) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            LockSupport.parkNanos(this, MIN_NAP_NANOS);
        }
        inFlight = null;
        Failure failure = failures.current();
        for (Operation operation = head.next(); operation != null && failure != null; operation = operation.next()) {
            operation.fail(failure);
        }
        executor.finish();
        return true;
    }

    /** Stands before the first operation. */
    private static final class Sentinel extends Operation {
        Sentinel(OperationQueue queue) {
            super(queue);
        }

        @Override
        long execute(long timeoutNanos) {
            return NativeCommunicator.OK;
        }

        @Override
        String describe() {
            return "none";
        }

        @Override
        void release() {}
    }
}
