package io.jccl.runtime;

import java.util.concurrent.locks.LockSupport;

/**
 * The sleeps of one wait of a Java thread: each twice as long as the one before, up to a limit.
 *
 * <p>A thread whose interrupt flag is set cannot sleep. So a wait asks {@link #interrupted} before each sleep, which takes
 * the flag; {@link #close} sets it again, whether the wait ends or throws. What an interrupt means is the caller's decision.
 */
final class Backoff implements AutoCloseable {

    private final long maxNanos;
    private long nanos;
    private boolean interrupted;

    Backoff(long firstNanos, long maxNanos) {
        this.nanos = firstNanos;
        this.maxNanos = maxNanos;
    }

    /** Whether the thread was interrupted since the last call. */
    boolean interrupted() {
        boolean now = Thread.interrupted();
        interrupted |= now;
        return now;
    }

    /** Sleeps, until another thread wakes this one at the latest. */
    void sleep() {
        LockSupport.parkNanos(this, nanos);
        nanos = Math.min(2 * nanos, maxNanos);
    }

    /**
     * Sleeps in spite of interrupts, unless a deadline has passed.
     *
     * @return whether the wait may go on
     */
    boolean sleepUntil(long deadline) {
        if (System.nanoTime() - deadline >= 0) {
            return false;
        }
        interrupted();
        sleep();
        return true;
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
