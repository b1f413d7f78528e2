package io.jccl.search;

import java.util.Arrays;

/**
 * One channel.
 *
 * @param order indexes of the ranks in the order in which they are visited
 * @param netIn index of the network device by which it enters, -1 if no networks are used
 * @param netOut index of the network device by which it leaves, -1 if no networks are used
 */
record Route(int[] order, int netIn, int netOut) {

    boolean sameAs(Route other) {
        return netIn == other.netIn && netOut == other.netOut && Arrays.equals(order, other.order);
    }
}
