package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/**
 * The contribution of one rank to the plan: its host, and the channels that were found on the host.
 *
 * <p>The ranks of one host normally find the same channels, because each of them searched the same topology. To make
 * all ranks agree in any case, the plan takes the order of the ranks in each channel from the host's lowest rank. It
 * uses the lowest bandwidths and the farthest path types that any rank of the host found.
 *
 * @param rank this rank, 0 to size-1
 * @param hostId an id that differs between hosts; ranks with equal ids are on one host
 * @param gpu whether this rank's memory and work are on a GPU
 * @param rings the ring channels of its host
 * @param trees the tree channels of its host; if they have no orders, the orders of the rings are used
 * @param chains the channels to a network that reduces, if they differ from the trees
 */
public record RankChannels(
        int rank, String hostId, boolean gpu, ChannelGraph rings, ChannelGraph trees, Optional<ChannelGraph> chains) {

    /** Channels of a host whose trees are also the chains to a network that reduces. */
    public RankChannels(int rank, String hostId, boolean gpu, ChannelGraph rings, ChannelGraph trees) {
        this(rank, hostId, gpu, rings, trees, Optional.empty());
    }

    /** Checks each field alone; the orders are checked when the plan is built. */
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

    /** Returns the same search result for the ranks of another, equal host. */
    public RankChannels renumbered(String host, IntUnaryOperator number) {
        return new RankChannels(
                number.applyAsInt(rank),
                host,
                gpu,
                rings.renumbered(number),
                trees.renumbered(number),
                chains.map(graph -> graph.renumbered(number)));
    }

    /** Returns the same search result as the contribution of another rank of the host. */
    public RankChannels withRank(int other) {
        return new RankChannels(other, hostId, gpu, rings, trees, chains);
    }

    /**
     * Returns these channels with the lower bandwidths and the farther path types of two ranks of the same host: this
     * rank and {@code other}.
     */
    RankChannels worst(RankChannels other) {
        return new RankChannels(
                rank, hostId, gpu && other.gpu, rings.worst(other.rings), trees.worst(other.trees), chains);
    }
}
