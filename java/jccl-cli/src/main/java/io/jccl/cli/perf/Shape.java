package io.jccl.cli.perf;

import io.jccl.Collective;

/**
 * The number of elements that a collective moves at a requested size, by the rules of nccl-tests: the size is that of
 * the larger buffer of a rank, and the count is the argument of the call.
 *
 * @param collective the collective
 * @param ranks number of ranks that take part
 * @param count elements as the call counts them: of a block if a buffer consists of a block for each rank, else of the
 *     buffer; in v-forms the largest of the call's counts
 * @param elements elements of the larger buffer
 */
record Shape(PerfCollective collective, int ranks, long count, long elements) {

    /**
     * Returns the largest shape whose larger buffer is at most a size. The shape has at least one element in each
     * block, or in the buffer of a v-form, even if that exceeds the size.
     */
    static Shape of(PerfCollective collective, int ranks, long bytes, int elementBytes) {
        if (collective.kind() == Collective.BARRIER) {
            return new Shape(collective, ranks, 0, 0);
        }
        long elements = Math.max(1, bytes / elementBytes);
        if (collective.vector()) {
            long largest = Blocks.uneven(ranks, elements).count(ranks - 1);
            return new Shape(collective, ranks, largest, elements);
        }
        if (isBlocked(collective.kind())) {
            long block = Math.max(1, elements / ranks);
            return new Shape(collective, ranks, block, block * ranks);
        }
        return new Shape(collective, ranks, elements, elements);
    }

    /**
     * Returns each rank's block of the larger buffer. All-to-all is an exception: its blocks belong to pairs of ranks.
     */
    Blocks blocks() {
        return collective.vector() ? Blocks.uneven(ranks, elements) : Blocks.even(ranks, count);
    }

    /**
     * Returns the blocks that a rank sends in an all-to-all: the smallest to itself, the next one to its successor, and
     * so on.
     */
    Blocks sentBy(int rank) {
        return blocks().reordered(to -> Math.floorMod(to - rank, ranks));
    }

    /** Returns the blocks that a rank receives from each rank in an all-to-all. */
    Blocks receivedBy(int rank) {
        return blocks().reordered(from -> Math.floorMod(rank - from, ranks));
    }

    /** Returns true if one buffer holds a block for each rank. */
    private static boolean isBlocked(Collective collective) {
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> true;
            case ALL_REDUCE, REDUCE, BROADCAST, SEND_RECV, BARRIER, SCAN, EXSCAN -> false;
        };
    }

    /** Returns true if the call can work within one buffer. */
    static boolean hasInPlace(Collective collective) {
        return switch (collective) {
            case ALL_TO_ALL, SEND_RECV, BARRIER -> false;
            case ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, SCAN, EXSCAN -> true;
        };
    }

    /**
     * Returns the factor between the algorithm bandwidth and the load of the slowest link. Blocks of different sizes
     * count as if they were equal.
     */
    static double busFactor(Collective collective, int ranks) {
        double others = (double) (ranks - 1) / ranks;
        return switch (collective) {
            case ALL_REDUCE -> 2 * others;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> others;
            case REDUCE, BROADCAST, SEND_RECV, BARRIER, SCAN, EXSCAN -> 1;
        };
    }
}
