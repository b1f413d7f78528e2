package io.jccl.lightgbm;

/**
 * The order in which the contributions of all ranks to one rank's block are reduced. LightGBM's own network uses the
 * same order, so that sums have the same bits.
 *
 * @param steps pairs of ranks: the second rank's contribution is added to that of the first
 * @param result the rank whose contribution contains the result in the end
 */
record FoldOrder(int[] steps, int result) {

    /**
     * Size in bytes of the largest input that LightGBM reduces by halving if the number of ranks is not a power of two.
     */
    private static final long MAX_HALVING_BYTES = 10 * 1024 * 1024 - 1;

    /** Returns true if LightGBM reduces by recursive halving, false if by a ring. */
    static boolean isByHalving(int size, long inputBytes) {
        return Integer.bitCount(size) == 1 || inputBytes <= MAX_HALVING_BYTES;
    }

    /** Returns the order of a ring: it begins with the rank after {@code rank} and ends with {@code rank}. */
    static FoldOrder ring(int rank, int size) {
        int[] steps = new int[2 * (size - 1)];
        for (int i = 0; i < size - 1; i++) {
            steps[2 * i] = (rank + i + 2) % size;
            steps[2 * i + 1] = (rank + i + 1) % size;
        }
        return new FoldOrder(steps, rank);
    }

    /**
     * Returns the order of recursive halving. If the number of ranks is not a power of two, the last ranks form pairs.
     * Each pair first combines its contributions, and its first rank continues for both.
     */
    static FoldOrder halving(int rank, int size) {
        int groups = Integer.highestOneBit(size);
        int single = size - 2 * (size - groups); // number of ranks that are not in a pair
        int[] steps = new int[2 * (size - 1)];
        int length = 0;
        for (int first = single; first < size; first += 2) {
            steps[length++] = first;
            steps[length++] = first + 1;
        }
        int group = rank < single ? rank : single + (rank - single) / 2;
        for (int distance = groups / 2; distance > 0; distance /= 2) {
            int start = group - group % distance;
            for (int own = start; own < start + distance; own++) {
                steps[length++] = first(own, single);
                steps[length++] = first(own ^ distance, single);
            }
        }
        return new FoldOrder(steps, first(group, single));
    }

    /** Returns the first rank of a group. */
    private static int first(int group, int single) {
        return group < single ? group : single + 2 * (group - single);
    }
}
