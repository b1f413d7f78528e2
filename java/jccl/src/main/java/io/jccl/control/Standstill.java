package io.jccl.control;

import java.util.concurrent.TimeUnit;

/**
 * Detects that this process has just stood still for so long that other ranks report it as failed. For use by one
 * thread.
 */
final class Standstill {

    /** A connection that is lost within this time after a standstill counts as lost because of the standstill. */
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final long limitNanos;
    private long lastTick;
    private long gapNanos; // length of the last gap between two calls of tick() that exceeded the limit; 0 if none did
    private long gapEnd;

    /**
     * Starts to watch the process.
     *
     * @param limitNanos the heartbeat time-out
     */
    Standstill(long limitNanos, long now) {
        this.limitNanos = limitNanos;
        this.lastTick = now;
    }

    /** Called regularly. Returns the time since the previous call. */
    long tick(long now) {
        long gap = now - lastTick;
        lastTick = now;
        if (gap >= limitNanos) {
            gapNanos = gap;
            gapEnd = now;
        }
        return gap;
    }

    /** Returns for how many milliseconds this process stood still recently; 0 if it did not. */
    long millis(long now) {
        boolean recent = gapNanos != 0 && now - gapEnd < RECENT_NANOS;
        long gap = Math.max(now - lastTick, recent ? gapNanos : 0);
        return gap >= limitNanos ? TimeUnit.NANOSECONDS.toMillis(gap) : 0;
    }

    /** Returns a standstill as text for other ranks. */
    static String text(int rank, long millis) {
        return "rank " + rank + " stood still for " + millis + " ms, longer than the heartbeat time-out";
    }
}
