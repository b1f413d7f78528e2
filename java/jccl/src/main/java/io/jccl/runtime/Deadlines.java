package io.jccl.runtime;

import java.time.Duration;

/** Points in time by {@link System#nanoTime()}. */
final class Deadlines {

    /** No deadline. */
    static final long NONE = 0;

    private Deadlines() {}

    /** The point in time that lies {@code timeout} ahead; never {@link #NONE}. */
    static long after(Duration timeout) {
        long deadline = System.nanoTime() + nanos(timeout);
        return deadline == NONE ? deadline + 1 : deadline;
    }

    /** The earlier of two, each possibly {@link #NONE}. */
    static long earlier(long one, long other) {
        if (one == NONE || other == NONE) {
            return one == NONE ? other : one;
        }
        return one - other < 0 ? one : other;
    }

    /** A duration in nanoseconds, cut so that sums fit in a {@code long}. */
    static long nanos(Duration duration) {
        return duration.compareTo(Duration.ofDays(365)) > 0
                ? Duration.ofDays(365).toNanos()
                : duration.toNanos();
    }

    /** How many nanoseconds are left, at least 1. */
    static long left(long deadline) {
        return Math.max(1, deadline - System.nanoTime());
    }
}
