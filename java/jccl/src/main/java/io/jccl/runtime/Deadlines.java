package io.jccl.runtime;

import java.time.Duration;

/** Points in time by {@link System#nanoTime()}. */
final class Deadlines {

    private Deadlines() {}

    /** The point in time that lies {@code timeout} ahead; never {@link OperationQueue#NO_DEADLINE}. */
    static long after(Duration timeout) {
        long deadline = System.nanoTime() + nanos(timeout);
        return deadline == OperationQueue.NO_DEADLINE ? deadline + 1 : deadline;
    }

    /** A duration in nanoseconds, cut to what a {@code long} holds with room for sums. */
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
