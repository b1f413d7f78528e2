package io.jccl.testing;

/**
 * The number of random cases that a test tries: a share of all cases in every build, all of them every night ({@code
 * scripts/check-all}, {@code -Djccl.test.seeds=100}), and more than all to search for a rare failure. Cases are
 * numbered from 0, so that a larger share contains every case that a failure names.
 */
public final class Seeds {

    private static final int PERCENT = Integer.getInteger("jccl.test.seeds", 10);

    private Seeds() {}

    /** Returns the number of cases to try out of {@code all}; at least one. */
    public static int of(int all) {
        return Math.max(1, Math.toIntExact((long) all * PERCENT / 100));
    }
}
