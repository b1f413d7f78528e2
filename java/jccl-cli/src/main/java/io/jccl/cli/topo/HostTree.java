package io.jccl.cli.topo;

import io.jccl.planning.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A tree over whole hosts, and the channels that follow it.
 *
 * @param up for each host, the number of the host above it; -1 for the root
 * @param channels the channels, ascending
 */
public record HostTree(List<Integer> up, List<Integer> channels) {

    /** Returns the different trees of a plan over hosts, in the order of their first channels. */
    public static List<HostTree> of(Plan plan) {
        int[] hostOf = new int[plan.size()];
        plan.hosts().forEach(host -> host.ranks().forEach(rank -> hostOf[rank] = host.index()));
        Map<List<Integer>, List<Integer>> channelsOf = new LinkedHashMap<>();
        for (int channel = 0; channel < plan.channels(); channel++) {
            Integer[] up = new Integer[plan.hosts().size()];
            Arrays.fill(up, -1);
            for (int rank = 0; rank < plan.size(); rank++) {
                int above = plan.treeParent(channel, rank);
                if (above >= 0 && hostOf[above] != hostOf[rank]) {
                    up[hostOf[rank]] = hostOf[above];
                }
            }
            channelsOf.computeIfAbsent(List.of(up), key -> new ArrayList<>()).add(channel);
        }
        List<HostTree> trees = new ArrayList<>();
        channelsOf.forEach((up, channels) -> trees.add(new HostTree(up, List.copyOf(channels))));
        return trees;
    }

    /** Returns the host at the top. */
    public int root() {
        return up.indexOf(-1);
    }

    /** Returns, for each host, the hosts directly below it, ascending. */
    public List<List<Integer>> below() {
        List<List<Integer>> below = new ArrayList<>();
        IntStream.range(0, up.size()).forEach(host -> below.add(new ArrayList<>()));
        IntStream.range(0, up.size()).filter(host -> up.get(host) >= 0).forEach(host -> below.get(up.get(host))
                .add(host));
        return below;
    }

    /** Returns the number of steps from the root to the farthest host. */
    public int depth() {
        int deepest = 0;
        for (int host = 0; host < up.size(); host++) {
            int depth = 0;
            for (int at = up.get(host); at >= 0; at = up.get(at)) {
                depth++;
            }
            deepest = Math.max(deepest, depth);
        }
        return deepest;
    }
}
