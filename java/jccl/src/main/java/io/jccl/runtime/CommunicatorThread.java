package io.jccl.runtime;

import io.jccl.JcclException;
import io.jccl.events.LogContext;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread of a communicator: executes operations for which no thread waits, and completes futures. The thread starts
 * with the first operation on host memory, so that a communicator without operations needs no thread.
 *
 * <p>Without work the thread sleeps, and issuing an operation wakes it. After waking, it pauses for
 * {@value #ISSUER_FIRST_NANOS} ns, so that an issuer that awaits its operation can execute it first. A loop that awaits
 * each operation at once must not pay for waking this thread. So while polls find that the issuers execute their
 * operations themselves, this thread polls every {@value #AWAITED_BACK_OFF_NANOS} ns, and issuing wakes no thread. The
 * first operation for which no thread waits ends this mode.
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
    private static final int BACKING_OFF = 1; // the thread polls again soon
    private static final int ASLEEP = 2; // issuing an operation wakes the thread

    private final String name;
    private final OperationQueue queue;
    private final ServiceThread thread;
    private LogContext logs; // log context of the thread; null before its first round
    private final Queue<OperationWork> futures =
            new ConcurrentLinkedQueue<>(); // operations whose futures are not complete
    private volatile int mode = AWAKE;
    private long asleepSinceNanos; // used by the thread only, like the next three fields
    private int awaited; // polls that found a new operation of another thread, since this thread last executed one
    private long backOffNanos = MIN_BACK_OFF_NANOS;
    private OperationWork seen; // operation in flight at the last poll
    private volatile boolean started;
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

    /**
     * Starts the thread, unless it has been started or stopped.
     *
     * @throws JcclException if the thread cannot be started
     */
    void startIfNew() {
        if (!started) {
            start();
        }
    }

    private synchronized void start() {
        if (!started && !stopping) {
            Threads.start(thread);
            started = true;
        }
    }

    /** Called after an operation was issued. Reads only one field unless the thread is asleep. */
    void wakeIfAsleep() {
        if (mode == ASLEEP) {
            wake();
        }
    }

    /** Called when a thread polls for the end of an operation, or waits for it without executing it. */
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
        startIfNew();
        futures.add(operation);
        LockSupport.unpark(thread);
        if (ended) {
            complete(operation);
        }
    }

    /**
     * Polls once. An exception from here has failed the communicator, or fails it soon; that failure ends the remaining
     * operations.
     */
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
            return; // more operations may have been issued meanwhile
        }
        if (progress == OperationQueue.Progress.PAUSED) {
            backOff(AWAITED_BACK_OFF_NANOS);
            return;
        }
        if (moved) {
            awaited = Math.min(awaited + 1, POLLS_UNTIL_AWAITED);
        }
        if (moved && awaited == POLLS_UNTIL_AWAITED) {
            backOff(AWAITED_BACK_OFF_NANOS);
            backOffNanos = MIN_BACK_OFF_NANOS;
        } else if (progress == OperationQueue.Progress.OTHERS_RUN) {
            // This thread does not sleep, because it must execute operations that are issued meanwhile.
            backOffNanos = moved ? MIN_BACK_OFF_NANOS : Math.min(2 * backOffNanos, MAX_BACK_OFF_NANOS);
            if (backOffNanos < MAX_BACK_OFF_NANOS) {
                backOff(backOffNanos);
            } else {
                backOffWhileOthersRun();
            }
        } else if (!futures.isEmpty()) {
            backOff(FUTURE_BACK_OFF_NANOS); // no thread reports the end of operations on a device
        } else if (!stopping) {
            sleep();
        }
    }

    private void backOff(long nanos) {
        mode = BACKING_OFF;
        LockSupport.parkNanos(this, nanos);
        mode = AWAKE;
    }

    /** Backs off until an operation of another thread ends. */
    private void backOffWhileOthersRun() {
        mode = BACKING_OFF;
        queue.sleepWhileOthersRun();
        mode = AWAKE;
    }

    /**
     * Sets the mode to asleep. For the first {@value #ASLEEP_AFTER_NANOS} ns in this mode the thread only backs off,
     * then it sleeps for longer. The polls before the first long sleep find operations that were issued just before the
     * mode was set; operations that are issued later wake this thread. An issuer that wakes it gets a moment to await
     * the operation itself.
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
     * Completes the futures of operations that are over. A continuation that closes the communicator calls this again,
     * on this thread. An operation stays in {@link #futures} until its future is complete, whatever is thrown.
     */
    private void completeFutures() {
        if (!futures.isEmpty()) {
            for (Iterator<OperationWork> each = futures.iterator(); each.hasNext(); ) {
                if (complete(each.next())) {
                    each.remove();
                }
            }
        }
        Thread.interrupted(); // a continuation may have set the interrupt flag, which prevents sleeping
    }

    /**
     * Completes the future of an operation; returns false if the operation is not over. Throws only if the future is
     * incomplete.
     */
    private static boolean complete(OperationWork operation) {
        try {
            return operation.completeFuture();
        } catch (Throwable e) {
            operation.breakFuture(e);
            return true;
        }
    }

    /** Asks the thread to end after its current work. */
    void stop() {
        synchronized (this) {
            stopping = true; // from now on the thread is not started
        }
        LockSupport.unpark(thread);
    }

    /**
     * Waits until the thread, which executes no operations any more, has completed the remaining futures and ended.
     * Waits only until a deadline, because a continuation can take longer.
     */
    void finish(long deadline) {
        ended |= !started;
        if (!started || Thread.currentThread() == thread) {
            completeFutures(); // this thread cannot wait for itself: a continuation closes the communicator
            return;
        }
        IdleStrategy.await(this::hasEnded, deadline, FUTURE_BACK_OFF_NANOS, MAX_BACK_OFF_NANOS);
    }

    private boolean hasEnded() {
        LockSupport.unpark(thread);
        return !thread.isAlive();
    }
}
