package io.jccl.plan;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/**
 * What one rank brings to the plan: where it runs, and the channels that were found on its host.
 *
 * <p>The ranks of one host normally find the same, because each of them searched the same topology. So that all ranks
 * agree in any case, the lowest rank's orders and the worst of their bandwidths and types are taken.
 *
 * @param rank this rank, 0 to size-1
 * @param hostId differs between hosts: ranks with equal ids are on one host
 * @param gpu whether this rank's memory and work are on a GPU
 * @param rings the ring channels of its host
 * @param trees the tree channels of its host; without orders, those of the rings are taken
 * @param chains those to a network that reduces, where they are not those of the trees
 */
public record RankChannels(
        int rank, String hostId, boolean gpu, ChannelGraph rings, ChannelGraph trees, Optional<ChannelGraph> chains) {

    /** Without chains of their own. */
    public RankChannels(int rank, String hostId, boolean gpu, ChannelGraph rings, ChannelGraph trees) {
        this(rank, hostId, gpu, rings, trees, Optional.empty());
    }

    /** Checks the fields that can be checked alone; the orders are checked when the plan is built. */
    public RankChannels {
        if (rank < 0) {
            throw new IllegalArgumentException("rank=" + rank + ": expected 0 or more");
        }
        Objects.requireNonNull(hostId, "hostId");
        if (rings.pattern() != Pattern.RING
                || trees.pattern() == Pattern.RING
                || chains.stream().anyMatch(graph -> graph.pattern() == Pattern.RING)) {
            throw new IllegalArgumentException("rings=" + rings.pattern() + " trees=" + trees.pattern() + " chains="
                    + chains.map(ChannelGraph::pattern) + ": expected rings, and trees and chains of any shape");
        }
        int orders = Math.max(
                Math.max(rings.orders().size(), trees.orders().size()),
                chains.map(graph -> graph.orders().size()).orElse(0));
        if (orders > PlanOptions.CHANNEL_LIMIT) {
            throw new IllegalArgumentException("orders=" + orders + ": expected at most " + PlanOptions.CHANNEL_LIMIT);
        }
    }

    /** The same search result for the ranks of another host that is equal. */
    public RankChannels renumbered(String host, IntUnaryOperator number) {
        return new RankChannels(
                number.applyAsInt(rank),
                host,
                gpu,
                rings.renumbered(number),
                trees.renumbered(number),
                chains.map(graph -> graph.renumbered(number)));
    }

    /** The same search result as another rank of the host brings it. */
    public RankChannels withRank(int other) {
        return new RankChannels(other, hostId, gpu, rings, trees, chains);
    }

    /** These channels at no more than what another rank of the same host found. */
    RankChannels worst(RankChannels other) {
        return new RankChannels(
                rank, hostId, gpu && other.gpu, rings.worst(other.rings), trees.worst(other.trees), chains);
    }
}
