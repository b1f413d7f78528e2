package io.jccl.search;

import java.util.Arrays;

/**
 * One channel: places of ranks in the order visited, and places of the network devices it comes in and leaves by, -1
 * where networks play no part.
 */
record Route(int[] order, int netIn, int netOut) {

    boolean sameAs(Route other) {
        return netIn == other.netIn && netOut == other.netOut && Arrays.equals(order, other.order);
    }
}
