package io.jccl.cli.perf;

import io.jccl.Collective;

/**
 * How many elements a collective moves at a requested size, by the rules of nccl-tests: a size is the most bytes that one
 * rank sends or expects, and the count is the one that the call takes.
 *
 * @param collective which
 * @param ranks how many take part
 * @param count elements as the call counts them: per pair of ranks where buffers are made of blocks, else the buffer
 * @param elements elements of the larger buffer
 */
record Shape(Collective collective, int ranks, long count, long elements) {

    /** The shape nearest below a size; never less than one element a block. */
    static Shape of(Collective collective, int ranks, long bytes, int elementBytes) {
        if (collective == Collective.BARRIER) {
            return new Shape(collective, ranks, 0, 0);
        }
        long elements = bytes / elementBytes;
        if (isBlocked(collective)) {
            long block = Math.max(1, elements / ranks);
            return new Shape(collective, ranks, block, block * ranks);
        }
        long whole = Math.max(1, elements);
        return new Shape(collective, ranks, whole, whole);
    }

    /** Whether one buffer holds a block for each rank. */
    static boolean isBlocked(Collective collective) {
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

    /** By what the algorithm bandwidth is multiplied to give the load of the slowest link. */
    static double busFactor(Collective collective, int ranks) {
        double others = (double) (ranks - 1) / ranks;
        return switch (collective) {
            case ALL_REDUCE -> 2 * others;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> others;
            case REDUCE, BROADCAST, SEND_RECV, BARRIER -> 1;
        };
    }
}
