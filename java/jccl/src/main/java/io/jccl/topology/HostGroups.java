package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Groups ranks on the host that the search cannot distinguish: ranks of one CPU whose links have the same bandwidth. A
 * few ranks represent each group in the search. That suffices, because a channel that reaches one rank of a group
 * visits the others over their own links only.
 */
public final class HostGroups {

    /**
     * Number of ranks that represent a group. The first two ranks of a tree and the last rank of a ring have roles of
     * their own.
     */
    private static final int REPRESENTATIVES = 4;

    private final Topology reduced;
    private final double minGBpsOfOthers;
    /** The ranks of each group in ascending order. */
    private final List<List<Integer>> groups;

    private final Map<Integer, Integer> groupOfRank = new HashMap<>();

    private HostGroups(Topology topology, List<List<Integer>> groups) {
        this.groups = groups;
        boolean[] keep = new boolean[topology.size()];
        Arrays.fill(keep, true);
        for (int group = 0; group < groups.size(); group++) {
            for (int rank : groups.get(group)) {
                groupOfRank.put(rank, group);
            }
        }
        double min = Double.POSITIVE_INFINITY;
        for (int node : topology.indexesOf(NodeType.HOST)) {
            int rank = Topology.rankOf(topology.node(node));
            List<Integer> group = groups.get(groupOfRank.get(rank));
            keep[node] = group.size() <= REPRESENTATIVES || rank <= group.get(REPRESENTATIVES - 1);
            if (!keep[node]) {
                min = Math.min(min, topology.links(node).get(0).bandwidthGBps());
            }
        }
        this.minGBpsOfOthers = min;
        this.reduced = reduces() ? topology.keep(keep) : topology;
    }

    /** Returns the groups of a host. */
    public static HostGroups of(Topology topology) {
        Map<List<Link>, List<Integer>> ranksByLinks = new LinkedHashMap<>();
        for (int node : topology.indexesOf(NodeType.HOST)) {
            List<Integer> ranks = ranksByLinks.get(topology.links(node));
            if (ranks == null) {
                ranks = new ArrayList<>();
                ranksByLinks.put(topology.links(node), ranks);
            }
            ranks.add(Topology.rankOf(topology.node(node)));
        }
        List<List<Integer>> groups = new ArrayList<>(ranksByLinks.values());
        for (List<Integer> ranks : groups) {
            Collections.sort(ranks);
        }
        return new HostGroups(topology, groups);
    }

    /** Returns true if a group has more ranks than represent it, so that the search omits some. */
    public boolean reduces() {
        return minGBpsOfOthers < Double.POSITIVE_INFINITY;
    }

    /** Returns the host with only the ranks that represent a group; the unchanged host if no group is large. */
    public Topology reduced() {
        return reduced;
    }

    /**
     * Returns the smallest link bandwidth, in GB/s, of the ranks that the search omits; infinite if it omits none.
     * Every channel passes each of these ranks once.
     */
    public double minGBpsOfOthers() {
        return minGBpsOfOthers;
    }

    /**
     * Inserts the omitted ranks into orders of the ranks in {@link #reduced}. They follow the last representative of
     * their group, or precede it if it ends the order, so that the same ranks exchange data with other hosts.
     */
    public List<List<Integer>> expand(List<List<Integer>> orders) {
        List<List<Integer>> expanded = orders.stream().map(this::withOthers).toList();
        // If all channels are equal, the ranks of a group are interchangeable, and ascending order is easier to read.
        return expanded.stream().distinct().count() == 1
                ? expanded.stream().map(this::ascending).toList()
                : expanded;
    }

    private List<Integer> withOthers(List<Integer> order) {
        int[] left = new int[groups.size()];
        order.forEach(rank -> left[groupOfRank.get(rank)]++);
        List<Integer> expanded = new ArrayList<>();
        for (int place = 0; place < order.size(); place++) {
            int rank = order.get(place);
            List<Integer> group = groups.get(groupOfRank.get(rank));
            List<Integer> others = --left[groupOfRank.get(rank)] == 0
                    ? group.subList(Math.min(REPRESENTATIVES, group.size()), group.size())
                    : List.of();
            boolean last = place == order.size() - 1;
            expanded.addAll(last ? others : List.of(rank));
            expanded.addAll(last ? List.of(rank) : others);
        }
        return expanded;
    }

    private List<Integer> ascending(List<Integer> order) {
        int[] taken = new int[groups.size()];
        return order.stream()
                .map(groupOfRank::get)
                .map(group -> groups.get(group).get(taken[group]++))
                .toList();
    }
}
