package io.jccl.runtime;

import io.jccl.InterruptedCommunicationException;
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
 * nothing from thread to thread. {@link Executor} carries out what nobody waits for, and what virtual threads wait for.
 *
 * <p>An operation ends once, whatever is thrown while it runs: its communicator fails with what was thrown. An interrupt of
 * a thread that waits ends the wait if the operation has not begun here; if it has, the communicator fails.
 *
 * <p>The list has a sentinel: {@code head} is the operation carried out last, touched only by the thread that has the right
 * to run; {@code tail} is the operation issued last, touched only by the thread that issues.
 */
final class OperationQueue {

    static final long NO_DEADLINE = 0;

    private static final long MIN_NAP_NANOS = 50_000;
    private static final long MAX_NAP_NANOS = 20_000_000;
    private static final long MAX_STOP_NAP_NANOS = 1_000_000;

    private static final VarHandle RUNNING;
    private static final VarHandle RUNNER;
    private static final VarHandle ISSUING;
    private static final VarHandle IN_FLIGHT;
    private static final VarHandle SLEEPING;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            RUNNING = lookup.findVarHandle(OperationQueue.class, "running", int.class);
            RUNNER = lookup.findVarHandle(OperationQueue.class, "runner", Thread.class);
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

    private volatile int running; // through RUNNING, where the stack need not be spared

    private Thread runner; // of the application, that had the right to run last; null: the communicator's own

    private volatile Throwable escaped; // left a thread with the right to run

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
        boolean mayRun = !VirtualThreads.isCurrent();
        while (!operation.isOver()) {
            boolean runs = mayRun && !Thread.currentThread().isInterrupted();
            if (!runs || !tryCarryOut(operation, deadline)) {
                awaitOthers(operation, deadline, mayRun);
            }
        }
    }

    private boolean tryCarryOut(Operation operation, long deadline) {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            return false;
        }
        setRunner(Thread.currentThread());
        runAndGiveBack(operation, deadline);
        return true;
    }

    /** Remembers whose interrupt is an interrupt of what runs; {@link #inFlight} publishes it. */
    private void setRunner(Thread thread) {
        if (runner != thread) {
            RUNNER.setOpaque(this, thread);
        }
    }

    /** Runs, and gives back the right to run. */
    private boolean runAndGiveBack(Operation last, long deadline) {
        boolean any;
        try {
            any = runUpTo(last, deadline);
            RUNNING.setRelease(this, 0);
        } catch (Throwable e) {
            escaped = e; // without a call: the stack may be exhausted
            running = 0;
            throw e;
        }
        wakeSleepers();
        return any;
    }

    /**
     * While another thread has the right to run, until the operation is over or this thread has carried it out. Who runs
     * wakes this thread; the naps only bound what a signal costs that crosses with going to sleep, because whoever runs
     * looks for sleepers without a fence.
     *
     * @param mayRun whether this thread may carry the operation out; otherwise the executor does
     */
    private void awaitOthers(Operation operation, long deadline, boolean mayRun) {
        beginSleep();
        try (Backoff backoff = new Backoff(MIN_NAP_NANOS, MAX_NAP_NANOS)) {
            while (!operation.isOver()) {
                if (backoff.interrupted()) {
                    interrupt(operation);
                }
                if (mayRun && tryCarryOut(operation, deadline)) {
                    continue;
                }
                if (deadline != NO_DEADLINE && System.nanoTime() - deadline >= 0) {
                    failures.timedOut(operation.describe());
                }
                if (!mayRun) {
                    executor.wakeIfNapping();
                }
                backoff.sleep();
            }
        } finally {
            endSleep();
        }
    }

    /** The thread that waits for the operation was interrupted: fails the communicator if the operation has begun. */
    private void interrupt(Operation operation) {
        if (inFlight() != operation) {
            throw new InterruptedCommunicationException("communicator=" + executor.name() + " " + operation.describe()
                    + ": the thread that waits was interrupted before the operation began here; the operation stays"
                    + " issued: await it again, or abort the communicator");
        }
        failures.interrupted(operation.describe());
    }

    /**
     * Now and then, by the watch: fails the communicator if the thread that runs an operation was interrupted, which native
     * code does not notice, or could not say itself what was thrown.
     */
    void check() {
        Operation operation = inFlight();
        if (operation != null && escaped != null) {
            failures.broken(operation.describe(), escaped);
        }
        if (operation == null || operation.isOver()) {
            return;
        }
        Thread thread = (Thread) RUNNER.getOpaque(this);
        if (thread != null && thread.isInterrupted() && !operation.isOver()) { // it is still the one that runs it
            failures.interrupted(operation.describe());
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
        setRunner(null);
        return runAndGiveBack(null, NO_DEADLINE) ? Look.CARRIED_OUT : Look.NOTHING;
    }

    /**
     * Returns when everything that was issued is over; the caller has the right to issue.
     *
     * @throws InterruptedCommunicationException if the thread is interrupted before the last of it has begun
     */
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
            if (!operation.isOver()) { // nor had ended when something was thrown
                run(operation, deadline);
            }
            done.link(null); // a handle that the application keeps must not keep all later ones
            head = operation;
            done = operation;
            any = true;
            wakeSleepers();
        }
        return any;
    }

    /** Ends the operation, whatever is thrown. */
    private void run(Operation operation, long deadline) {
        Failure failure = escaped == null ? failures.current() : failures.broken(operation.describe(), escaped);
        if (failure == null) {
            IN_FLIGHT.setRelease(this, operation);
            try {
                long mayTake = deadline == NO_DEADLINE ? timeoutNanos : Deadlines.left(deadline);
                long outcome = operation.execute(mayTake);
                if (outcome >= NativeCommunicator.OK) {
                    operation.succeed(outcome);
                    return;
                }
                failure = failures.ended((int) outcome, operation.describe(), operation.sequenceOfFailure(), mayTake);
            } catch (Throwable e) {
                failure = failures.broken(operation.describe(), e);
            }
        }
        operation.fail(failure);
    }

    /** The operation that was begun last; it may be over. */
    Operation inFlight() {
        return (Operation) IN_FLIGHT.getAcquire(this);
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
        try (Backoff backoff = new Backoff(MIN_NAP_NANOS, MAX_STOP_NAP_NANOS)) {
            while (!RUNNING.compareAndSet(this, 0, 1)) {
                if (!backoff.sleepUntil(deadline)) {
                    return false;
                }
            }
        }
        setRunner(null);
        IN_FLIGHT.setRelease(this, (Operation) null);
        Failure failure = failures.current();
        for (Operation operation = head.next(); operation != null && failure != null; operation = operation.next()) {
            if (!operation.isOver()) {
                operation.fail(failure);
            }
        }
        executor.finish(deadline);
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
