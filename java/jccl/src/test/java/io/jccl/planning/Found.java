package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.List;

/** Makes results of the channel search for tests. */
public final class Found {

    private Found() {}

    /** Returns rings. */
    public static ChannelGraph rings(
            double bwIntra,
            double bwInter,
            PathType typeIntra,
            PathType typeInter,
            boolean crossNic,
            List<List<Integer>> orders,
            List<Rail> rails) {
        return new ChannelGraph(Pattern.RING, bwIntra, bwInter, typeIntra, typeInter, crossNic, orders, rails);
    }

    /** Returns rings of unbounded bandwidth without network devices. */
    public static ChannelGraph rings(List<List<Integer>> orders) {
        return rings(
                LinkSpeeds.LOCAL_GBPS, LinkSpeeds.LOCAL_GBPS, PathType.LOC, PathType.LOC, false, orders, List.of());
    }

    /** Returns trees with the channels of another graph. */
    public static ChannelGraph trees(Pattern pattern, ChannelGraph like) {
        return new ChannelGraph(
                pattern,
                like.bwIntra(),
                like.bwInter(),
                like.typeIntra(),
                like.typeInter(),
                like.crossNic(),
                like.orders(),
                like.rails());
    }

    /** Returns a rank whose rings and trees have the same channels. */
    public static RankChannels rank(int rank, String host, boolean gpu, ChannelGraph rings, Pattern trees) {
        return new RankChannels(rank, host, gpu, rings, trees(trees, rings));
    }

    /**
     * Returns the ranks of two hosts with two GPUs each. Each host has a channel in each direction, each on its own
     * rail.
     */
    public static List<RankChannels> twoHosts(Rail first, Rail second) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            int base = rank / 2 * 2;
            ChannelGraph found = rings(
                    12,
                    12,
                    PathType.PIX,
                    PathType.PIX,
                    false,
                    List.of(List.of(base, base + 1), List.of(base + 1, base)),
                    List.of(first, second));
            ranks.add(rank(rank, "host-" + base, true, found, Pattern.BALANCED_TREE));
        }
        return ranks;
    }

    /** Returns a host rank without a search result: its host's channel visits the ranks in ascending order. */
    public static RankChannels rank(int rank, String host) {
        return rank(rank, host, false, rings(List.of()), Pattern.BALANCED_TREE);
    }
}
