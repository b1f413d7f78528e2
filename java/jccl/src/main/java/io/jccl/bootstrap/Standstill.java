package io.jccl.bootstrap;

import java.util.concurrent.TimeUnit;

/** Whether this process has just stood still for so long that other ranks report it as failed. For one thread. */
final class Standstill {

    /** A connection lost within this time after a standstill was lost because of it. */
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final long limitNanos;
    private long lastTick;
    private long gapNanos; // the last one above the limit
    private long gapEnd;

    /** @param limitNanos the heartbeat time-out */
    Standstill(long limitNanos, long now) {
        this.limitNanos = limitNanos;
        this.lastTick = now;
    }

    /** Called regularly; returns the time since the call before. */
    long tick(long now) {
        long gap = now - lastTick;
        lastTick = now;
        if (gap >= limitNanos) {
            gapNanos = gap;
            gapEnd = now;
        }
        return gap;
    }

    /** For how many milliseconds it stood still, or 0 if it has not lately. */
    long millis(long now) {
        boolean recent = gapNanos != 0 && now - gapEnd < RECENT_NANOS;
        long gap = Math.max(now - lastTick, recent ? gapNanos : 0);
        return gap >= limitNanos ? TimeUnit.NANOSECONDS.toMillis(gap) : 0;
    }

    /** The same as a text for other ranks. */
    static String text(int rank, long millis) {
        return "rank " + rank + " stood still for " + millis + " ms, longer than the heartbeat time-out";
    }
}
