package io.jccl.runtime;

import java.time.Duration;

/** Points in time by {@link System#nanoTime()}. */
final class Deadlines {

    /** No deadline. */
    static final long NONE = 0;

    /** Longest time for which a wait stays in native code before it looks for an interrupt. */
    static final long SLICE_NANOS = Duration.ofMillis(20).toNanos();

    private Deadlines() {}

    /** Returns the point in time after {@code timeout}; never {@link #NONE}. */
    static long after(Duration timeout) {
        long deadline = System.nanoTime() + nanos(timeout);
        return deadline == NONE ? deadline + 1 : deadline;
    }

    /** Returns the earlier of two deadlines, each of which may be {@link #NONE}. */
    static long earlier(long one, long other) {
        if (one == NONE || other == NONE) {
            return one == NONE ? other : one;
        }
        return one - other < 0 ? one : other;
    }

    /** Returns a duration in nanoseconds, at most a year, so that sums fit in a {@code long}. */
    static long nanos(Duration duration) {
        return duration.compareTo(Duration.ofDays(365)) > 0
                ? Duration.ofDays(365).toNanos()
                : duration.toNanos();
    }

    /** Returns for how long a wait of which {@code left} nanoseconds are left may stay in native code. */
    static long slice(long left) {
        return Math.max(0, Math.min(left, SLICE_NANOS));
    }

    /** Returns the nanoseconds until a deadline, at least 1. */
    static long left(long deadline) {
        return Math.max(1, deadline - System.nanoTime());
    }
}
