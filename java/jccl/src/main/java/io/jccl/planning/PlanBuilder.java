package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the channels of all hosts into a plan. One builder builds one plan. */
final class PlanBuilder {

    private final PlanOptions options;
    private final RankChannels[] byRank;
    private final List<PlannedHost> hosts = new ArrayList<>();
    private final List<RankChannels> found = new ArrayList<>();
    private final int[] hostOfRank;

    PlanBuilder(List<RankChannels> ranks, PlanOptions options) {
        if (ranks.isEmpty()) {
            throw new IllegalArgumentException("ranks=[]: a plan needs at least one rank");
        }
        this.options = options;
        this.byRank = new RankChannels[ranks.size()];
        this.hostOfRank = new int[ranks.size()];
        for (RankChannels rank : ranks) {
            if (rank.rank() >= byRank.length) {
                throw new IllegalArgumentException("rank=" + rank.rank() + ": expected 0 to " + (byRank.length - 1)
                        + ", because " + byRank.length + " ranks were given");
            }
            if (byRank[rank.rank()] != null) {
                throw new IllegalArgumentException("rank=" + rank.rank() + ": given twice; every rank gives one entry");
            }
            byRank[rank.rank()] = rank;
        }
    }

    Plan build() {
        groupByHost();
        for (PlannedHost host : hosts) {
            found.add(agree(host));
        }
        Alignment alignment = Alignment.of(found, byRank.length == 1, options);
        int distinct = alignment.rings().channels();
        int[][] ringChoice = chooseRings(distinct);
        int[][] treeChoice = chooseTrees(distinct);
        int[][] rings = new int[alignment.channels()][];
        TreeOfRanks[] trees = new TreeOfRanks[alignment.channels()];
        DoubleBinaryTree shape = new DoubleBinaryTree(hosts.size());
        for (int channel = 0; channel < alignment.channels(); channel++) {
            rings[channel] = ring(ringChoice, channel % distinct);
            int tree = Plan.treeOfChannel(channel, hosts.size());
            trees[channel] = tree(shape, channel % 2, treeChoice, tree % distinct);
        }
        return new Plan(hosts, found, hostOfRank, alignment, ringChoice, treeChoice, rings, trees);
    }

    private void groupByHost() {
        Map<String, List<Integer>> ranksOfHost = new LinkedHashMap<>();
        for (RankChannels rank : byRank) {
            ranksOfHost
                    .computeIfAbsent(rank.hostId(), host -> new ArrayList<>())
                    .add(rank.rank());
        }
        for (Map.Entry<String, List<Integer>> host : ranksOfHost.entrySet()) {
            for (int rank : host.getValue()) {
                hostOfRank[rank] = hosts.size();
            }
            hosts.add(new PlannedHost(hosts.size(), host.getKey(), host.getValue()));
        }
    }

    /**
     * Returns the channels on which the ranks of a host agree. The lowest rank's channels give the order of the ranks.
     * The bandwidths are the lowest, and the path types the farthest, that any rank of the host found.
     */
    private RankChannels agree(PlannedHost host) {
        RankChannels agreed = byRank[host.ranks().get(0)];
        for (int rank : host.ranks()) {
            agreed = agreed.worst(byRank[rank]);
        }
        requirePermutations(host, agreed.rings(), "ring");
        requirePermutations(host, agreed.trees(), "tree");
        agreed.chains().ifPresent(chains -> requirePermutations(host, chains, "chain"));
        if (!agreed.trees().orders().isEmpty()) {
            return agreed;
        }
        return new RankChannels(
                agreed.rank(),
                agreed.hostId(),
                agreed.gpu(),
                agreed.rings(),
                agreed.trees().along(agreed.rings()),
                agreed.chains());
    }

    private static void requirePermutations(PlannedHost host, ChannelGraph found, String kind) {
        for (int channel = 0; channel < found.orders().size(); channel++) {
            List<Integer> order = found.orders().get(channel);
            List<Integer> sorted = new ArrayList<>(order);
            Collections.sort(sorted);
            if (!sorted.equals(host.ranks())) {
                throw new IllegalArgumentException(kind + " order=" + order + " of channel=" + channel + " on host="
                        + host.hostId() + ": expected a permutation of its ranks " + host.ranks());
            }
        }
    }

    /**
     * Chooses each host's rings so that a ring enters a host by the rail on which it left the previous one. If rings
     * cross rails, every second host therefore uses other rings for the same channels.
     */
    private int[][] chooseRings(int distinct) {
        int[][] chosen = new int[hosts.size()][];
        int[] outs = null;
        for (int host = 0; host < chosen.length; host++) {
            RailMatcher matcher = new RailMatcher(found.get(host).rings(), distinct);
            chosen[host] = outs == null ? matcher.inOrder() : matcher.matching(outs);
            outs = matcher.outs(chosen[host]);
        }
        return chosen;
    }

    /** Chooses each host's trees by the rails of the first host, because any two hosts may be neighbours in a tree. */
    private int[][] chooseTrees(int distinct) {
        int[][] chosen = new int[hosts.size()][];
        int[] rails = null;
        for (int host = 0; host < chosen.length; host++) {
            RailMatcher matcher = new RailMatcher(found.get(host).trees(), distinct);
            chosen[host] = rails == null ? matcher.inOrder() : matcher.matching(rails);
            rails = rails == null ? matcher.ins(chosen[host]) : rails;
        }
        return chosen;
    }

    private int[] ring(int[][] choice, int distinct) {
        int[] ring = new int[byRank.length];
        int at = 0;
        for (PlannedHost host : hosts) {
            for (int rank : order(host, found.get(host.index()).rings(), choice, distinct)) {
                ring[at++] = rank;
            }
        }
        return ring;
    }

    /**
     * Builds a tree over all ranks. Adds the edges between hosts before those inside hosts, so that data with a long
     * path is passed on first.
     */
    private TreeOfRanks tree(DoubleBinaryTree shape, int which, int[][] choice, int distinct) {
        TreeOfRanks tree = new TreeOfRanks(byRank.length);
        for (PlannedHost host : hosts) {
            List<Integer> chain = chain(host, choice, distinct);
            Pattern pattern = found.get(host.index()).trees().pattern();
            for (int child = 0; child < 2; child++) {
                int below = shape.child(which, host.index(), child);
                if (below != DoubleBinaryTree.NONE) {
                    tree.connect(
                            chain.get(childPlace(pattern, child, chain.size())),
                            chain(hosts.get(below), choice, distinct).get(0));
                }
            }
        }
        for (PlannedHost host : hosts) {
            List<Integer> chain = chain(host, choice, distinct);
            for (int place = 1; place < chain.size(); place++) {
                tree.connect(chain.get(place - 1), chain.get(place));
            }
        }
        return tree;
    }

    /**
     * Returns the place, in a host's chain, of the rank that exchanges data with a child host.
     *
     * @param child 0 or 1
     * @param ranks number of ranks of the chain; the place is less than this number
     */
    private static int childPlace(Pattern pattern, int child, int ranks) {
        int place =
                switch (pattern) {
                    case SPLIT_TREE -> 1;
                    case BALANCED_TREE -> child;
                    case TREE, RING -> 0;
                };
        return Math.min(place, ranks - 1);
    }

    private List<Integer> chain(PlannedHost host, int[][] choice, int distinct) {
        return order(host, found.get(host.index()).trees(), choice, distinct);
    }

    private static List<Integer> order(PlannedHost host, ChannelGraph channels, int[][] choice, int distinct) {
        return channels.orders().isEmpty() ? host.ranks() : channels.orders().get(choice[host.index()][distinct]);
    }
}
