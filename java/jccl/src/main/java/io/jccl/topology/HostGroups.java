package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Ranks on the host that no search can distinguish: of one CPU, with links of one bandwidth. A few of each group stand for
 * all, because a channel that has come to one of them visits the others over their own links alone.
 */
public final class HostGroups {

    /** So many stand for a group: the first two of a tree and the last of a ring have their own part in it. */
    private static final int STANDING = 4;

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
            keep[node] = group.size() <= STANDING || rank <= group.get(STANDING - 1);
            if (!keep[node]) {
                min = Math.min(min, topology.links(node).get(0).bandwidthGBps());
            }
        }
        this.minGBpsOfOthers = min;
        this.reduced = reduces() ? topology.keep(keep) : topology;
    }

    /** The groups of a host. */
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

    /** Whether some group is so large that not all of its ranks are searched. */
    public boolean reduces() {
        return minGBpsOfOthers < Double.POSITIVE_INFINITY;
    }

    /** The host with those ranks only that stand for all; the host itself where no group is large. */
    public Topology reduced() {
        return reduced;
    }

    /**
     * What each of the ranks that others stand for can send and receive, in GB/s: every channel passes it once. Infinite
     * where there is none.
     */
    public double minGBpsOfOthers() {
        return minGBpsOfOthers;
    }

    /**
     * The orders of all ranks that orders of those in {@link #reduced} mean. The others come behind the last of their group,
     * or before it if it is the last of all, so that the same ranks exchange data with other hosts.
     */
    public List<List<Integer>> expand(List<List<Integer>> orders) {
        List<List<Integer>> expanded = orders.stream().map(this::withOthers).toList();
        // If all channels are one, the ranks of a group can change places, and are easier to read in ascending order.
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
                    ? group.subList(Math.min(STANDING, group.size()), group.size())
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
