package io.jccl.cli.perf;

import java.util.Arrays;

/** Quantiles of measured times. */
final class Statistics {

    private Statistics() {}

    /**
     * Returns the value that a share of the samples does not exceed, interpolated between neighbours.
     *
     * @param sorted samples in ascending order, at least one
     * @param share from 0 to 1
     */
    static double quantile(long[] sorted, double share) {
        double at = share * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }

    /** Returns the differences of neighbouring time stamps, in ascending order. */
    static long[] sortedIntervals(long[] stamps) {
        long[] intervals = new long[stamps.length - 1];
        for (int i = 0; i < intervals.length; i++) {
            intervals[i] = stamps[i + 1] - stamps[i];
        }
        Arrays.sort(intervals);
        return intervals;
    }
}
