package io.jccl.search;

/** Generates pseudo-random numbers that are the same in every run and on every JVM (Marsaglia's xorshift). */
final class RandomNumbers {

    private long state = 0x9E3779B97F4A7C15L;

    private long next() {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return state;
    }

    /** Returns a number from 0 up to, but not including, 1. */
    double nextShare() {
        return (next() >>> 11) * 0x1.0p-53;
    }

    /** Returns a number from 0 up to, but not including, {@code bound}. */
    int next(int bound) {
        return (int) Math.floorMod(next(), (long) bound);
    }
}
