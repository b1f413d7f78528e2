package io.jccl.runtime;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.events.JfrEvents;
import io.jccl.internal.Releases;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/**
 * The operations of one communicator in the order of their issue. One thread at a time executes them.
 *
 * <p>Issuing only appends to a linked list. The first thread that waits takes the right to run, and executes the
 * operations of the list up to and including its own. So a loop of {@code issue, await} needs no context switch.
 * {@link CommunicatorThread} executes the operations for which no thread waits, and those for which virtual threads
 * wait.
 *
 * <p>A thread that polls executes operations, too, but only until one would wait for other ranks. That operation pauses,
 * and whoever has the right to run next continues it.
 *
 * <p>An operation ends once. If something is thrown while it runs, its communicator fails with that cause. If a waiting
 * thread is interrupted, its wait ends if the operation has not begun on this rank; otherwise the communicator fails.
 *
 * <p>The list has a sentinel. {@code head} is the operation executed last, and is used only by the thread that has the
 * right to run. {@code tail} is the operation issued last, and is used only by the thread that issues.
 */
final class OperationQueue {

    private static final long MIN_SLEEP_NANOS = 50_000;
    private static final long MAX_SLEEP_NANOS = 20_000_000;
    private static final long MAX_STOP_SLEEP_NANOS = 1_000_000;
    private static final long POLLED_NANOS = 1_000_000; // a thread that polls does so again within this time

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
            IN_FLIGHT = lookup.findVarHandle(OperationQueue.class, "inFlight", OperationWork.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final NativeEngine engine;
    private final OperationEvents events;
    private final boolean profiled; // copied from events, because every operation reads it
    private final IssueTimes issues = new IssueTimes();
    private final FailureState failures;
    private final long timeoutNanos;
    private final CommunicatorThread thread;

    private volatile int running; // 1 while a thread has the right to run; mostly accessed through RUNNING

    private Thread runner; // application thread that had the right to run last; null for the communicator's thread

    private Thread userCode; // thread that is inside a user-defined function; any thread reads this

    private volatile Throwable escaped; // exception that a thread with the right to run has not caught, or null

    @SuppressWarnings("unused") // accessed through ISSUING
    private int issuing;

    @SuppressWarnings("unused") // accessed through SLEEPING
    private int sleeping; // number of threads in sleepers

    private final Queue<Thread> sleepers = new ConcurrentLinkedQueue<>();

    private final OperationWork sentinel = new OperationWork(null, null, Deadlines.NONE);
    private OperationWork head = sentinel;
    private OperationWork tail = sentinel;
    private OperationWork paused; // has begun and would wait for other ranks; used with the right to run, as the next
    private long pausedDeadline; // time by which it must be over
    private long polledNanos; // time of the last poll
    private OperationWork inFlight; // accessed through IN_FLIGHT; the watchdog reads it, too

    OperationQueue(String name, NativeEngine engine, OperationEvents events, FailureState failures, long timeoutNanos) {
        this.engine = engine;
        this.events = events;
        this.profiled = events.areProfiled();
        this.failures = failures;
        this.timeoutNanos = timeoutNanos;
        this.thread = new CommunicatorThread(name, this);
    }

    /** Starts the communicator's thread before its first operation. */
    void start() {
        thread.startIfNew();
    }

    NativeEngine engine() {
        return engine;
    }

    OperationEvents events() {
        return events;
    }

    /** Returns the issue times of operations that waited for others. */
    IssueTimes issues() {
        return issues;
    }

    /** Takes the right to issue; {@link #endIssue} gives it back. */
    void beginIssue() {
        if (!tryBeginIssue()) {
            requireOutsideUserCode(); // a user-defined function can run while its operation is still being issued
            throw new IllegalStateException(
                    "communicator=" + thread.name() + ": another thread issues an operation, or this call comes from"
                            + " the body of a group; issue from one thread at a time, and"
                            + " inside of a group use the Group object");
        }
    }

    boolean tryBeginIssue() {
        return ISSUING.compareAndSet(this, 0, 1);
    }

    void endIssue() {
        ISSUING.setRelease(this, 0);
    }

    /** Appends an operation to the list; the caller has the right to issue. */
    void enqueue(OperationWork operation) {
        startThreadFor(operation);
        if (!tail.isOver()) {
            operation.queued(System.nanoTime());
        }
        tail.link(operation);
        tail = operation;
        thread.wakeIfAsleep();
    }

    /** Starts the communicator's thread for its first operation. Fails the communicator if that is not possible. */
    private void startThreadFor(OperationWork operation) {
        try {
            thread.startIfNew();
        } catch (JcclException e) {
            throw failures.broken(operation, e).exception();
        }
    }

    /**
     * Calls a user-defined function on the thread that executes an operation.
     *
     * @throws RuntimeException if the function throws it
     */
    void runUserCode(LongConsumer code, long argument) {
        userCode = Thread.currentThread();
        try {
            code.accept(argument);
        } finally {
            userCode = null;
        }
    }

    /**
     * Checks that this thread is not inside a user-defined function or a callback, where it would wait for itself.
     *
     * @throws IllegalStateException if it is
     */
    void requireOutsideUserCode() {
        Releases.requireOutside();
        requireOutsideFunction();
    }

    private void requireOutsideFunction() {
        if (userCode == Thread.currentThread()) {
            throw new IllegalStateException(
                    "communicator=" + thread.name() + ": the function of a reduction must not wait"
                            + " for an operation of its communicator, nor close it");
        }
    }

    /** Ends the operation by failing the communicator. */
    void cancel(OperationWork operation) {
        failures.cancelled(operation.describe());
    }

    /** Returns when {@code operation} is over. Executes it if no other thread does. */
    void await(OperationWork operation, long deadline) {
        requireOutsideFunction();
        boolean mayRun = !VirtualThreads.isCurrent();
        long end = Deadlines.earlier(deadline, operation.deadline());
        while (!operation.isOver()) {
            boolean runs = mayRun && !Thread.currentThread().isInterrupted();
            if (!runs || !tryRun(operation, end)) {
                awaitOthers(operation, end, mayRun);
            }
        }
    }

    /**
     * Executes operations up to {@code operation}, as far as that is possible without waiting for other ranks. If nobody
     * polls again soon, the communicator's thread goes on.
     */
    void poll(OperationWork operation) {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            thread.wakeIfIdle();
            return;
        }
        setRunner(null);
        polledNanos = System.nanoTime();
        if (runAndGiveBack(operation, Deadlines.NONE, true) != Progress.PAUSED && !operation.isOver()) {
            thread.wakeIfIdle(); // an operation cannot pause
        }
    }

    /** Lets the communicator's thread continue a paused operation at once. */
    void handOver() {
        if (RUNNING.compareAndSet(this, 0, 1)) {
            polledNanos = System.nanoTime() - POLLED_NANOS;
            RUNNING.setRelease(this, 0);
        }
        thread.wakeIfIdle();
    }

    private boolean tryRun(OperationWork operation, long deadline) {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            return false;
        }
        setRunner(Thread.currentThread());
        runAndGiveBack(operation, deadline, false);
        return true;
    }

    /**
     * Sets the thread whose interrupt fails the operation in flight. A later write of {@link #inFlight} publishes the
     * thread to the watchdog.
     */
    private void setRunner(Thread current) {
        if (runner != current) {
            RUNNER.setOpaque(this, current);
        }
    }

    /** Executes operations up to {@code last}, and gives back the right to run. */
    private Progress runAndGiveBack(OperationWork last, long deadline, boolean pauses) {
        Progress progress;
        try {
            progress = runUpTo(last, deadline, pauses);
            RUNNING.setRelease(this, 0);
        } catch (Throwable e) {
            escaped = e; // calls nothing from here on, because the stack may be exhausted
            running = 0;
            throw e;
        }
        wakeSleepers();
        return progress;
    }

    /**
     * Waits while another thread has the right to run, until the operation is over or this thread has executed it. The
     * thread that has the right to run wakes this one. That thread reads the number of sleepers without a fence, so it
     * can miss a thread that is about to sleep; the limit of each sleep bounds the delay.
     *
     * @param mayRun true if this thread may execute the operation; otherwise the communicator's thread does
     */
    private void awaitOthers(OperationWork operation, long deadline, boolean mayRun) {
        Releases.requireOutside(); // here only, because a callback's thread never has the right to run
        beginSleep();
        try (IdleStrategy idle =
                new IdleStrategy(deadline, 0, MIN_SLEEP_NANOS, MAX_SLEEP_NANOS, () -> interrupt(operation))) {
            while (!operation.isOver()) {
                idle.checkInterrupt();
                if (mayRun && tryRun(operation, deadline)) {
                    continue;
                }
                if (idle.isExpired()) {
                    failures.timedOut(operation.describe());
                }
                if (!mayRun) {
                    thread.wakeIfIdle();
                }
                idle.idle();
            }
        } finally {
            endSleep();
        }
    }

    /** Called when a waiting thread was interrupted. Fails the communicator if the operation has begun, else throws. */
    private void interrupt(OperationWork operation) {
        if (inFlight() != operation) {
            throw new InterruptedCommunicationException("communicator=" + thread.name() + " " + operation.describe()
                    + ": the thread that waits was interrupted before the operation began here; the operation stays"
                    + " issued: await it again, or abort the communicator");
        }
        failures.interrupted(operation.describe());
    }

    /**
     * Called by the watchdog. Fails the communicator if the thread that runs an operation was interrupted, which native
     * code does not notice, or if that thread could not report an exception itself.
     */
    void check() {
        failures.check();
        OperationWork operation = inFlight();
        if (operation != null && escaped != null) {
            failures.broken(operation, escaped);
        }
        if (operation == null || operation.isOver()) {
            return;
        }
        Thread runs = (Thread) RUNNER.getOpaque(this);
        if (runs != null && runs.isInterrupted() && !operation.isOver()) { // not over: `runs` still executes it
            failures.interrupted(operation.describe());
        }
    }

    /** Sleeps while another thread has the right to run, at most until that thread ends an operation. */
    void sleepWhileOthersRun() {
        beginSleep();
        try {
            if ((int) RUNNING.getVolatile(this) != 0) {
                LockSupport.parkNanos(this, MAX_SLEEP_NANOS);
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

    /**
     * Wakes the threads that sleep. Called after each operation and when the right to run is given back; reads only one
     * field if no thread sleeps.
     */
    private void wakeSleepers() {
        if ((int) SLEEPING.getOpaque(this) != 0) {
            sleepers.forEach(LockSupport::unpark);
        }
    }

    /** What a call has executed. */
    enum Progress {
        /** There was nothing to execute. */
        NOTHING,
        /** Operations were executed. */
        EXECUTED,
        /** An operation would wait for other ranks, and a thread polls for its end. */
        PAUSED,
        /** Another thread has the right to run. */
        OTHERS_RUN
    }

    /** Executes all operations that are in the list now, unless another thread has the right to run. */
    Progress runAll() {
        if (!RUNNING.compareAndSet(this, 0, 1)) {
            return Progress.OTHERS_RUN;
        }
        setRunner(null);
        if (paused != null && System.nanoTime() - polledNanos < POLLED_NANOS && failures.current() == null) {
            RUNNING.setRelease(this, 0);
            return Progress.PAUSED;
        }
        return runAndGiveBack(null, Deadlines.NONE, false);
    }

    /**
     * Waits for all issued operations. The caller has the right to issue.
     *
     * @throws InterruptedCommunicationException if the thread is interrupted before the last operation has begun
     */
    void drain() {
        OperationWork last = tail;
        if (last != sentinel) {
            await(last, Deadlines.NONE);
        }
    }

    private Progress runUpTo(OperationWork last, long deadline, boolean pauses) {
        Progress progress = Progress.NOTHING;
        OperationWork done = head;
        while (last == null || !last.isOver()) {
            OperationWork operation = done.next();
            if (operation == null) {
                break;
            }
            if (!operation.isOver()) { // an operation is over already if something was thrown after its end
                if (pauses && operation != paused && !mayPause(operation)) {
                    break;
                }
                run(operation, deadline, pauses);
                if (operation == paused) {
                    return Progress.PAUSED;
                }
            }
            done.link(null); // so that a handle that the application keeps does not keep all later operations
            head = operation;
            done = operation;
            progress = Progress.EXECUTED;
            wakeSleepers();
        }
        return progress;
    }

    private boolean mayPause(OperationWork operation) {
        return !profiled
                && !JfrEvents.recordsOperations()
                && failures.current() == null
                && escaped == null
                && operation.backend().mayPause(operation);
    }

    /** Executes an operation, and ends it whatever is thrown, unless the operation pauses. */
    private void run(OperationWork operation, long deadline, boolean pauses) {
        Failure failure = escaped == null ? failures.current() : failures.broken(operation, escaped);
        if (failure != null && operation == paused) {
            endPaused();
        }
        if (failure == null) {
            IN_FLIGHT.setRelease(this, operation);
            try {
                long end = Deadlines.earlier(deadline, operation.deadline());
                if (operation == paused) {
                    end = Deadlines.earlier(end, pausedDeadline);
                }
                long mayTake = end == Deadlines.NONE ? timeoutNanos : Deadlines.left(end);
                long outcome = operation == paused
                        ? operation.backend().resume(operation, mayTake, pauses)
                        : profiled || JfrEvents.recordsOperations()
                                ? events.execute(operation, mayTake)
                                : operation.backend().execute(operation, mayTake);
                if (outcome == Code.PAUSED) {
                    pause(operation, mayTake);
                    return;
                }
                paused = null;
                if (operation.issuedNanos() != 0) {
                    issues.keep(engine.lastEntered(), operation.issuedNanos());
                }
                if (outcome >= Code.OK) {
                    operation.succeed(outcome);
                    return;
                }
                failure = failures.ended(
                        (int) outcome, operation.describe(), operation.backend().failureSequence(operation), mayTake);
            } catch (Throwable e) {
                paused = null;
                failure = failures.broken(operation, e);
            }
        }
        operation.fail(failure);
    }

    private void pause(OperationWork operation, long mayTake) {
        if (operation != paused) {
            pausedDeadline = Deadlines.after(Duration.ofNanos(mayTake));
            paused = operation;
        }
    }

    /** Lets the paused operation leave the engine, which has failed. */
    private void endPaused() {
        OperationWork operation = paused;
        paused = null;
        operation.backend().resume(operation, 1, false);
    }

    /** Returns the operation that was begun last; it may be over. */
    OperationWork inFlight() {
        return (OperationWork) IN_FLIGHT.getAcquire(this);
    }

    void completeLater(OperationWork operation) {
        thread.completeLater(operation);
    }

    /**
     * Takes the right to run for good, so that no thread is inside the engine any more. If the communicator has failed,
     * fails the remaining operations.
     *
     * @return true if this thread got the right before the deadline
     */
    boolean stop(long deadline) {
        thread.stop();
        boolean taken = IdleStrategy.await(
                () -> RUNNING.compareAndSet(this, 0, 1), deadline, MIN_SLEEP_NANOS, MAX_STOP_SLEEP_NANOS);
        if (!taken) {
            return false;
        }
        setRunner(null);
        if (paused != null) {
            endPaused();
        }
        IN_FLIGHT.setRelease(this, (OperationWork) null);
        Failure failure = failures.current();
        for (OperationWork operation = head.next();
                operation != null && failure != null;
                operation = operation.next()) {
            if (!operation.isOver()) {
                operation.fail(failure);
            }
        }
        thread.finish(deadline);
        return true;
    }
}
