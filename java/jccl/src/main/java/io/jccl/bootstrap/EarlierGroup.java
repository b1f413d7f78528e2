package io.jccl.bootstrap;

import java.util.ArrayList;
import java.util.List;

/**
 * A group before, in which ranks may be left that a group does not have: those that failed to initialise the group, and
 * those that were left out and live. Until there is none, a rank needs a majority of both groups to go on, see {@code
 * io.jccl.membership} of the tests.
 *
 * @param addresses the reserved ports, by rank of the group before
 * @param ranks by rank of the group before, the rank in the group now, or {@link #NONE}
 * @param lasts whether ranks that were left out matter once all are known to use the group now
 * @param ports this rank's ports of the group before, and of groups that came from it and failed; it keeps them
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
     * The same group beside one that comes from the group now.
     *
     * @param left the ranks of the group now that the next one has, in its order
     * @param keepsPorts whether it is for this rank
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

    /** The ranks of the group before that the group now does not have. */
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

    /** Reads what {@link #write} wrote, for a process that joins a group of a size. */
    static List<EarlierGroup> read(WireReader in, int size) {
        List<EarlierGroup> groups = new ArrayList<>();
        int n = in.i32In("earlierGroups", 0, Codecs.MAX_RANKS);
        for (int i = 0; i < n; i++) {
            boolean lasts = in.flag();
            int members = in.i32In("earlierRanks", 1, Codecs.MAX_RANKS);
            List<Integer> ranks = new ArrayList<>();
            List<String> addresses = new ArrayList<>();
            for (int rank = 0; rank < members; rank++) {
                ranks.add(in.i32In("rank", NONE, size - 1));
                addresses.add(in.text(MAX_ADDRESS_CHARS));
                ReservedPort.decode(addresses.get(rank)); // throws if it is none
            }
            groups.add(new EarlierGroup(addresses, ranks, lasts, List.of()));
        }
        return groups;
    }
}
