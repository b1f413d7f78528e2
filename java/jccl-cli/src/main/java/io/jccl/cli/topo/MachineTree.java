package io.jccl.cli.topo;

import io.jccl.plan.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A tree over whole hosts, and the channels that follow it.
 *
 * @param up by host, the host above it, or -1 at the root
 * @param channels the channels, ascending
 */
public record MachineTree(List<Integer> up, List<Integer> channels) {

    /** The different trees of a plan over hosts, in the order of their first channels. */
    public static List<MachineTree> of(Plan plan) {
        int[] machineOf = new int[plan.size()];
        plan.machines().forEach(machine -> machine.ranks().forEach(rank -> machineOf[rank] = machine.index()));
        Map<List<Integer>, List<Integer>> channelsOf = new LinkedHashMap<>();
        for (int channel = 0; channel < plan.channels(); channel++) {
            Integer[] up = new Integer[plan.machines().size()];
            Arrays.fill(up, -1);
            for (int rank = 0; rank < plan.size(); rank++) {
                int above = plan.treeParent(channel, rank);
                if (above >= 0 && machineOf[above] != machineOf[rank]) {
                    up[machineOf[rank]] = machineOf[above];
                }
            }
            channelsOf.computeIfAbsent(List.of(up), key -> new ArrayList<>()).add(channel);
        }
        List<MachineTree> trees = new ArrayList<>();
        channelsOf.forEach((up, channels) -> trees.add(new MachineTree(up, List.copyOf(channels))));
        return trees;
    }

    /** The host at the top. */
    public int root() {
        return up.indexOf(-1);
    }

    /** The hosts below each host, by number and ascending. */
    public List<List<Integer>> below() {
        List<List<Integer>> below = new ArrayList<>();
        IntStream.range(0, up.size()).forEach(machine -> below.add(new ArrayList<>()));
        IntStream.range(0, up.size())
                .filter(machine -> up.get(machine) >= 0)
                .forEach(machine -> below.get(up.get(machine)).add(machine));
        return below;
    }

    /** The number of steps from the root to the farthest host. */
    public int depth() {
        int deepest = 0;
        for (int machine = 0; machine < up.size(); machine++) {
            int depth = 0;
            for (int at = up.get(machine); at >= 0; at = up.get(at)) {
                depth++;
            }
            deepest = Math.max(deepest, depth);
        }
        return deepest;
    }
}
