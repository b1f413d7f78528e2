package io.jccl.runtime;

import io.jccl.events.LogContext;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread of a communicator: executes operations that nobody waits for, and completes futures.
 *
 * <p>When there is nothing to do it sleeps, and the next operation that is issued wakes it: an operation that nobody waits
 * for begins as soon as a thread can be woken and has let the issuer go first. A loop of operations that are awaited at
 * once must not pay for that. So while polls find that those who issue also wait, issuing wakes nobody, and this thread
 * polls every {@value #AWAITED_BACK_OFF_NANOS} ns; the first operation that nobody waits for ends this.
 */
final class CommunicatorThread {

    private static final long ISSUER_FIRST_NANOS = 20_000;
    private static final long MIN_BACK_OFF_NANOS = 100_000;
    private static final long AWAITED_BACK_OFF_NANOS = 1_000_000;
    private static final long MAX_BACK_OFF_NANOS = 2_000_000;
    private static final long FUTURE_BACK_OFF_NANOS = 50_000;
    private static final long ASLEEP_AFTER_NANOS = 50_000;
    private static final long SLEEP_NANOS = 500_000_000;
    private static final int POLLS_UNTIL_AWAITED = 3;

    private static final int AWAKE = 0;
    private static final int BACKING_OFF = 1; // polls again soon
    private static final int ASLEEP = 2; // issuing wakes it

    private final String name;
    private final OperationQueue queue;
    private final ServiceThread thread;
    private LogContext logs; // of the thread, while it runs
    private final Queue<OperationWork> futures =
            new ConcurrentLinkedQueue<>(); // operations whose futures are not complete
    private volatile int mode = AWAKE;
    private long asleepSinceNanos; // touched by the thread only, as the next three
    private int awaited; // how many polls in a row found that others had executed operations
    private long backOffNanos = MIN_BACK_OFF_NANOS;
    private OperationWork seen;
    private volatile boolean stopping;
    private volatile boolean ended;

    CommunicatorThread(String name, OperationQueue queue) {
        this.name = name;
        this.queue = queue;
        this.thread = ServiceThread.repeating(name, this::round);
    }

    String name() {
        return name;
    }

    void start() {
        Threads.start(thread);
    }

    /** After an operation was issued: reads one field, unless there was nothing to do before. */
    void wakeIfAsleep() {
        if (mode == ASLEEP) {
            wake();
        }
    }

    /** Somebody asks for an operation's end without waiting for it. */
    void wakeIfIdle() {
        if (mode != AWAKE) {
            wake();
        }
    }

    private void wake() {
        mode = AWAKE;
        LockSupport.unpark(thread);
    }

    /** Completes the operation's future when it is over. */
    void completeLater(OperationWork operation) {
        futures.add(operation);
        LockSupport.unpark(thread);
        if (ended) {
            complete(operation);
        }
    }

    /** One poll. What it throws has failed the communicator, or does so soon; what is left ends with that. */
    private boolean round() {
        if (logs == null) {
            logs = queue.events().logContext();
        }
        if (!stopping || !futures.isEmpty()) {
            poll();
            return true;
        }
        ended = true;
        completeFutures();
        logs.close();
        return false;
    }

    private void poll() {
        OperationQueue.Progress progress = queue.runAll();
        completeFutures();
        OperationWork last = queue.inFlight();
        boolean moved = last != seen;
        seen = last;
        if (progress == OperationQueue.Progress.EXECUTED) {
            mode = AWAKE;
            awaited = 0;
            return; // more may have come meanwhile
        }
        if (moved) {
            awaited = Math.min(awaited + 1, POLLS_UNTIL_AWAITED);
        }
        if (moved && awaited == POLLS_UNTIL_AWAITED) {
            backOff(AWAITED_BACK_OFF_NANOS);
            backOffNanos = MIN_BACK_OFF_NANOS;
        } else if (progress == OperationQueue.Progress.OTHERS_RUN) {
            // No sleep: what is issued meanwhile is left to this thread.
            backOffNanos = moved ? MIN_BACK_OFF_NANOS : Math.min(2 * backOffNanos, MAX_BACK_OFF_NANOS);
            if (backOffNanos < MAX_BACK_OFF_NANOS) {
                backOff(backOffNanos);
            } else {
                backOffWhileOthersRun();
            }
        } else if (!futures.isEmpty()) {
            backOff(FUTURE_BACK_OFF_NANOS); // of operations on a device, which nobody reports
        } else if (!stopping) {
            sleep();
        }
    }

    private void backOff(long nanos) {
        mode = BACKING_OFF;
        LockSupport.parkNanos(this, nanos);
        mode = AWAKE;
    }

    /** Beside an operation that lasts: until it ends. */
    private void backOffWhileOthersRun() {
        mode = BACKING_OFF;
        queue.sleepWhileOthersRun();
        mode = AWAKE;
    }

    /**
     * Sets the mode to asleep and backs off; sleeps once that was long enough ago. The poll in between finds what was
     * issued just before, and what is issued later wakes this thread. An issuer that wakes it gets a moment to await the
     * operation itself.
     */
    private void sleep() {
        if (mode != ASLEEP) {
            mode = ASLEEP;
            asleepSinceNanos = System.nanoTime();
        }
        boolean forLong = System.nanoTime() - asleepSinceNanos >= ASLEEP_AFTER_NANOS;
        LockSupport.parkNanos(this, forLong ? SLEEP_NANOS : MIN_BACK_OFF_NANOS);
        if (mode != ASLEEP && !stopping) {
            backOff(ISSUER_FIRST_NANOS);
        }
    }

    /**
     * Completes the futures of what is over. A continuation that closes the communicator comes here again. An operation stays in
     * the queue until its future is complete, whatever is thrown.
     */
    private void completeFutures() {
        if (!futures.isEmpty()) {
            for (Iterator<OperationWork> each = futures.iterator(); each.hasNext(); ) {
                if (complete(each.next())) {
                    each.remove();
                }
            }
        }
        Thread.interrupted(); // a continuation's; with it the thread could not sleep
    }

    /** Throws an error of the JVM only if the future is not complete then. */
    private static boolean complete(OperationWork operation) {
        try {
            return operation.completeFuture();
        } catch (Throwable e) {
            operation.breakFuture(e);
            return true;
        }
    }

    /** Asks the thread to end after what it does now. */
    void stop() {
        stopping = true;
        LockSupport.unpark(thread);
    }

    /**
     * Waits for the thread, which runs nothing any more and completes what is left, until a deadline: a continuation may
     * last longer.
     */
    void finish(long deadline) {
        if (Thread.currentThread() == thread) {
            completeFutures(); // of a continuation that closes the communicator
            return;
        }
        IdleStrategy.await(this::hasEnded, deadline, FUTURE_BACK_OFF_NANOS, MAX_BACK_OFF_NANOS);
    }

    private boolean hasEnded() {
        LockSupport.unpark(thread);
        return !thread.isAlive();
    }
}
