package io.jccl.membership;

import io.jccl.rendezvous.BootstrapOptions;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The connections of some ranks of a group to one of them that is not its rank 0. The first group that is split off with
 * this rank as its rank 0 makes them, and later ones use them. They belong to a group of their own, which does nothing
 * else and which each rank closes with the group from which it was split off.
 *
 * @param ranks the ranks by their numbers in the group from which the connections' group was split off; the first is the
 *     one to which the connections lead
 * @param group the connections' group
 */
record Star(List<Integer> ranks, Bootstrap group) {

    int leader() {
        return ranks.get(0);
    }

    /** Returns a number that is the same on all its ranks, and on no others. */
    long id() {
        return ByteBuffer.wrap(group.sessionId()).getLong();
    }

    /** Enters a group of some of the ranks, as {@link Bootstrap#enter}. */
    Bootstrap enter(int newRank, List<Integer> members, byte[] secret, BootstrapOptions options) {
        return group.enter(newRank, members.stream().map(ranks::indexOf).toList(), secret, options);
    }
}
