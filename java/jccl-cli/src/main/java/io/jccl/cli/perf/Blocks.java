package io.jccl.cli.perf;

import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/** Counts and offsets of the blocks of a buffer that contains a block for each rank, one after the other. */
final class Blocks {

    private final long[] counts;
    private final long[] offsets;

    private Blocks(long[] counts) {
        this.counts = counts;
        this.offsets = new long[counts.length];
        for (int i = 1; i < counts.length; i++) {
            offsets[i] = offsets[i - 1] + counts[i - 1];
        }
    }

    /** Creates blocks of equal size. */
    static Blocks even(int ranks, long count) {
        long[] counts = new long[ranks];
        Arrays.fill(counts, count);
        return new Blocks(counts);
    }

    /**
     * Creates blocks whose sizes grow as 1 : 2 : … : n. With fewer elements than that sum, the first blocks are empty.
     *
     * @param elements number of elements of all blocks together
     */
    static Blocks uneven(int ranks, long elements) {
        long[] counts = new long[ranks];
        long begin = 0;
        for (int i = 0; i < ranks; i++) {
            long end = share(elements, triangle(i + 1L), triangle(ranks));
            counts[i] = end - begin;
            begin = end;
        }
        return new Blocks(counts);
    }

    private static long triangle(long n) {
        return n * (n + 1) / 2;
    }

    /** Returns {@code elements * part / whole}, rounded down, without overflow of the product. */
    private static long share(long elements, long part, long whole) {
        return elements / whole * part + elements % whole * part / whole;
    }

    /** Returns these blocks in another order: {@code source} maps the new index to the old one. */
    Blocks reordered(IntUnaryOperator source) {
        long[] other = new long[counts.length];
        Arrays.setAll(other, i -> counts[source.applyAsInt(i)]);
        return new Blocks(other);
    }

    /** Returns the number of elements of each block. */
    long[] counts() {
        return counts.clone();
    }

    /** Returns the offset of each block, in elements. */
    long[] offsets() {
        return offsets.clone();
    }

    long count(int rank) {
        return counts[rank];
    }

    long offset(int rank) {
        return offsets[rank];
    }
}
