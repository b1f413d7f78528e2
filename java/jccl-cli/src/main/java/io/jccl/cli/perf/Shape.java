package io.jccl.cli.perf;

import io.jccl.Collective;

/**
 * How many elements a collective moves at a requested size, by the rules of nccl-tests: a size is the most bytes that one
 * rank sends or expects, and the count is the one that the call takes.
 *
 * @param collective which
 * @param ranks how many take part
 * @param count elements as the call counts them: per pair of ranks where buffers are made of blocks, else the buffer; in
 *     v-forms the largest of the call's counts
 * @param elements elements of the larger buffer
 */
record Shape(PerfCollective collective, int ranks, long count, long elements) {

    /** The shape nearest below a size; never less than one element a block, or in v-forms less than one element. */
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

    /** Each rank's block of the larger buffer; not for all-to-all, whose blocks are those of pairs of ranks. */
    Blocks blocks() {
        return collective.vector() ? Blocks.uneven(ranks, elements) : Blocks.even(ranks, count);
    }

    /** What a rank sends to each rank in an all-to-all: to itself the smallest block, to its successor the next. */
    Blocks sentBy(int rank) {
        return blocks().reordered(to -> Math.floorMod(to - rank, ranks));
    }

    /** What a rank receives from each rank in an all-to-all. */
    Blocks receivedBy(int rank) {
        return blocks().reordered(from -> Math.floorMod(rank - from, ranks));
    }

    /** Whether one buffer holds a block for each rank. */
    private static boolean isBlocked(Collective collective) {
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> true;
            case ALL_REDUCE, REDUCE, BROADCAST, SEND_RECV, BARRIER -> false;
        };
    }

    /** Whether the call can work within one buffer. */
    static boolean hasInPlace(Collective collective) {
        return switch (collective) {
            case ALL_TO_ALL, SEND_RECV, BARRIER -> false;
            case ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER -> true;
        };
    }

    /** By what the algorithm bandwidth is multiplied to give the load of the slowest link; where blocks differ, as if they were equal. */
    static double busFactor(Collective collective, int ranks) {
        double others = (double) (ranks - 1) / ranks;
        return switch (collective) {
            case ALL_REDUCE -> 2 * others;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> others;
            case REDUCE, BROADCAST, SEND_RECV, BARRIER -> 1;
        };
    }
}
