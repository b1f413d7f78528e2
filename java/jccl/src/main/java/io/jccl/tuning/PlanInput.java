package io.jccl.tuning;

import io.jccl.plan.FoundChannels;
import io.jccl.plan.Rail;
import io.jccl.plan.RankChannels;
import io.jccl.plan.TreeShape;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;

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

    private static TreeShape shape(Pattern pattern) {
        return switch (pattern) {
            case SPLIT_TREE -> TreeShape.SPLIT;
            case BALANCED_TREE -> TreeShape.BALANCED;
            case RING, TREE -> TreeShape.CHAIN;
        };
    }
}
