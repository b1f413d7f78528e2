package io.jccl.membership;

import io.jccl.wire.Limits;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * An earlier group of which some ranks may live outside the current group: ranks that failed to initialise the current
 * group, and ranks that were left out of it. While there are such groups, a rank may continue only with a majority of
 * the current group and of each such group. {@code MembershipModelTest} checks this rule.
 *
 * @param addresses the reserved ports, by rank of the earlier group
 * @param ranks the rank in the current group or {@link #NONE}, by rank of the earlier group
 * @param lasts true if ranks that were left out still matter once all ranks are known to use the current group
 * @param ports this rank's ports in the earlier group, and in failed groups that came from the earlier group; they stay
 *     open while this object is in use
 */
record EarlierGroup(List<String> addresses, List<Integer> ranks, boolean lasts, List<ReservedPort> ports) {

    static final int NONE = -1;
    private static final int MAX_ADDRESS_CHARS = 1000;

    EarlierGroup {
        addresses = List.copyOf(addresses);
        ranks = List.copyOf(ranks);
        ports = List.copyOf(ports);
    }

    /**
     * Returns this earlier group as it relates to the group that follows the current one.
     *
     * @param left the ranks of the current group that continue, in their order in the next group
     * @param keepsPorts true if the result is for this rank, false if it is for another process
     */
    EarlierGroup after(List<Integer> left, boolean keepsPorts) {
        List<Integer> next = new ArrayList<>();
        for (int rank : ranks) {
            next.add(rank == NONE ? NONE : left.indexOf(rank));
        }
        return new EarlierGroup(addresses, next, lasts, keepsPorts ? shared(ports) : List.of());
    }

    static List<ReservedPort> shared(List<ReservedPort> ports) {
        return ports.stream().map(ReservedPort::share).toList();
    }

    /** Returns the ranks of the earlier group that are not in the current group. */
    List<Integer> leftOut() {
        List<Integer> leftOut = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (ranks.get(rank) == NONE) {
                leftOut.add(rank);
            }
        }
        return leftOut;
    }

    void close() {
        ports.forEach(ReservedPort::close);
    }

    static void write(WireWriter out, List<EarlierGroup> groups) {
        out.i32(groups.size());
        for (EarlierGroup group : groups) {
            out.flag(group.lasts).i32(group.ranks.size());
            for (int rank = 0; rank < group.ranks.size(); rank++) {
                out.i32(group.ranks.get(rank)).text(group.addresses.get(rank), MAX_ADDRESS_CHARS);
            }
        }
    }

    /** Reads the groups that {@link #write} wrote, for a process that joins a group of the given size. */
    static List<EarlierGroup> read(WireReader in, int size) {
        List<EarlierGroup> groups = new ArrayList<>();
        int n = in.i32In("earlierGroups", 0, Limits.MAX_RANKS);
        for (int i = 0; i < n; i++) {
            boolean lasts = in.flag();
            int members = in.i32In("earlierRanks", 1, Limits.MAX_RANKS);
            List<Integer> ranks = new ArrayList<>();
            List<String> addresses = new ArrayList<>();
            for (int rank = 0; rank < members; rank++) {
                ranks.add(in.i32In("rank", NONE, size - 1));
                addresses.add(in.text(MAX_ADDRESS_CHARS));
                ReservedPort.decode(addresses.get(rank)); // called only because it throws for an invalid address
            }
            groups.add(new EarlierGroup(addresses, ranks, lasts, List.of()));
        }
        return groups;
    }
}
