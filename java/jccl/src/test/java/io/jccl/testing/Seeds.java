package io.jccl.testing;

/**
 * How many random cases a test tries: a share of all in every build, all of them every night ({@code scripts/check-all},
 * {@code -Djccl.test.seeds=100}), and more where somebody looks for a rare one. Cases are numbered from 0, so that what a
 * failure names is tried again by a larger share.
 */
public final class Seeds {

    private static final int PERCENT = Integer.getInteger("jccl.test.seeds", 10);

    private Seeds() {}

    /** The share of {@code all} cases to try now; at least one. */
    public static int of(int all) {
        return Math.max(1, Math.toIntExact((long) all * PERCENT / 100));
    }
}
