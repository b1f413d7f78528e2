package io.jccl.runtime;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The back-off of a waiting Java thread, which spins, then sleeps, each time twice as long as before, up to a limit.
 * The waiting loop alternately checks its condition and calls {@link #idle}. If the communicator's failure ends the
 * wait, that condition includes the failure.
 *
 * <p>A thread whose interrupt flag is set cannot sleep. So a wait clears the flag before each sleep and calls
 * {@code onInterrupt}. {@link #close} sets the flag again, whether the wait returns or throws.
 */
final class IdleStrategy implements AutoCloseable {

    private final long deadline;
    private final long maxSleepNanos;
    private final Runnable onInterrupt;
    private int spins;
    private long sleepNanos;
    private boolean interrupted;

    /**
     * @param deadline time at which the wait expires, or {@link Deadlines#NONE}
     * @param onInterrupt is called after an interrupt of the waiting thread; can end the wait by throwing
     */
    IdleStrategy(long deadline, int spins, long minSleepNanos, long maxSleepNanos, Runnable onInterrupt) {
        this.deadline = deadline;
        this.spins = spins;
        this.sleepNanos = minSleepNanos;
        this.maxSleepNanos = maxSleepNanos;
        this.onInterrupt = onInterrupt;
    }

    /**
     * Waits until a condition holds; an interrupt does not end the wait.
     *
     * @return true if the condition held before the deadline
     */
    static boolean await(BooleanSupplier condition, long deadline, long minSleepNanos, long maxSleepNanos) {
        try (IdleStrategy idle = new IdleStrategy(deadline, 0, minSleepNanos, maxSleepNanos, () -> {})) {
            while (!condition.getAsBoolean()) {
                if (idle.isExpired()) {
                    return false;
                }
                idle.checkInterrupt();
                idle.idle();
            }
            return true;
        }
    }

    /**
     * Calls {@code onInterrupt} if the thread was interrupted since the last call. Does nothing while the thread spins.
     */
    void checkInterrupt() {
        if (spins == 0 && Thread.interrupted()) {
            interrupted = true;
            onInterrupt.run();
        }
    }

    boolean isExpired() {
        return deadline != Deadlines.NONE && System.nanoTime() - deadline >= 0;
    }

    /** Spins once, or sleeps until the time of the sleep is over or another thread wakes this one. */
    void idle() {
        if (spins > 0) {
            spins--;
            Thread.onSpinWait();
            return;
        }
        LockSupport.parkNanos(this, sleepNanos);
        sleepNanos = Math.min(2 * sleepNanos, maxSleepNanos);
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
