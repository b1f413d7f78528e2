package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * How the ranks that are left of a group become a group of their own. The old network may be gone, and rank 0 with it: so
 * the first rank that is left opens a root on its {@link ReservedPort}, and the others look for it there.
 */
final class Survivors {

    private final int rank;
    private final SortedSet<Integer> excluded;
    private final List<Integer> left;

    /**
     * The ranks that are left.
     *
     * @param rank this rank of the old group
     * @param size how many ranks the old group had
     * @param excluded ranks of the old group that are left out; not this one
     */
    Survivors(int rank, int size, SortedSet<Integer> excluded) {
        this.rank = rank;
        this.excluded = excluded;
        this.left = IntStream.range(0, size)
                .filter(one -> !excluded.contains(one))
                .boxed()
                .toList();
    }

    /**
     * Forms the new group.
     *
     * @param own this rank's port
     * @param places the ports of all ranks of the old group
     * @param secret of the old group
     * @throws BootstrapException if the ranks do not exclude the same ones
     * @throws io.jccl.JcclTimeoutException if not all came in time; names them by their ranks in the new group
     */
    Bootstrap form(ReservedPort own, List<String> places, byte[] secret, BootstrapOptions options) {
        int leader = left.get(0);
        byte[] meetingSecret = Handshake.derive(secret, "shrink");
        Connector.Place place = new Connector.Place(ReservedPort.addresses(places.get(leader)), meetingSecret);
        Root root = leader == rank ? own.open(options, meetingSecret) : null;
        Bootstrap group = null;
        boolean agreed = false;
        try {
            group = Bootstrap.join(place, left.indexOf(rank), left.size(), options);
            requireSameExclusions(group, options);
            agreed = true;
            return group;
        } finally {
            if (root != null && group == null) {
                root.close();
            }
            if (group != null && !agreed) {
                group.close();
            }
        }
    }

    /** Ranks that exclude different ones can be as many, and then meet. */
    private void requireSameExclusions(Bootstrap group, BootstrapOptions options) {
        byte[] mine = new WireWriter().ranks(excluded).toBytes();
        List<byte[]> all = group.outOfBand().allGather(mine, options.initTimeout());
        List<SortedSet<Integer>> sets = all.stream()
                .map(bytes -> new WireReader(bytes).ranks(Codecs.MAX_RANKS))
                .toList();
        if (Set.copyOf(sets).size() != 1) {
            String table = IntStream.range(0, sets.size())
                    .mapToObj(one ->
                            "\n  the rank that came as " + left.get(one) + " excludes " + RankList.text(sets.get(one)))
                    .collect(Collectors.joining());
            throw new BootstrapException("the ranks that are left exclude different ones:" + table);
        }
    }
}
