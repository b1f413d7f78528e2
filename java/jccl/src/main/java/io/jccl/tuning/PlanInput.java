package io.jccl.tuning;

import io.jccl.plan.FoundChannels;
import io.jccl.plan.Rail;
import io.jccl.plan.RankChannels;
import io.jccl.plan.TreeShape;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the search of one machine gives to the plan. */
public final class PlanInput {

    private PlanInput() {}

    /**
     * A rank's part of the plan.
     *
     * @param rank the rank, by the numbers of the topology
     * @param hostId its machine
     * @param topology the machine that was searched
     * @param ring the rings that were found
     * @param tree the trees that were found
     */
    public static RankChannels of(int rank, String hostId, Topology topology, ChannelGraph ring, ChannelGraph tree) {
        boolean gpu = topology.indexesOf(NodeType.HOST).isEmpty();
        return new RankChannels(rank, hostId, gpu, found(ring), found(tree), shape(tree.pattern()));
    }

    /**
     * All ranks of several machines, numbered machine by machine and on each in the order of its own numbers. The machines
     * may differ.
     *
     * @param machines what the lowest rank of each brings, by the numbers of its own topology
     */
    public static List<RankChannels> together(List<RankChannels> machines) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int machine = 0; machine < machines.size(); machine++) {
            int base = ranks.size();
            Map<Integer, Integer> numbers = new HashMap<>();
            machines.get(machine).rings().orders().get(0).stream()
                    .sorted()
                    .forEach(local -> numbers.put(local, base + numbers.size()));
            RankChannels lowest = machines.get(machine).renumbered("machine-" + machine, numbers::get);
            for (int i = 0; i < numbers.size(); i++) {
                ranks.add(lowest.withRank(base + i));
            }
        }
        return ranks;
    }

    private static FoundChannels found(ChannelGraph graph) {
        return new FoundChannels(
                graph.bwIntra(),
                graph.bwInter(),
                graph.typeIntra(),
                graph.typeInter(),
                graph.crossNic(),
                graph.orders(),
                graph.nets().stream()
                        .map(nets -> new Rail(nets.in(), nets.out()))
                        .toList());
    }

    /** The pattern whose channels are attached so. */
    static Pattern pattern(TreeShape shape) {
        return switch (shape) {
            case CHAIN -> Pattern.TREE;
            case SPLIT -> Pattern.SPLIT_TREE;
            case BALANCED -> Pattern.BALANCED_TREE;
        };
    }

    private static TreeShape shape(Pattern pattern) {
        return switch (pattern) {
            case SPLIT_TREE -> TreeShape.SPLIT;
            case BALANCED_TREE -> TreeShape.BALANCED;
            case RING, TREE -> TreeShape.CHAIN;
        };
    }
}
