package io.jccl.plan;

import java.util.Objects;
import java.util.function.IntUnaryOperator;

/**
 * What one rank brings to the plan: where it runs, and the channels that were found on its machine.
 *
 * <p>The ranks of one machine normally find the same, because each of them searched the same topology. So that all ranks
 * agree in any case, the lowest rank's orders and the worst of their bandwidths and types are taken.
 *
 * @param rank this rank, 0 to size-1
 * @param hostId what tells machines apart: ranks with equal ids are on one machine
 * @param gpu whether this rank's memory and work are on a GPU
 * @param rings the ring channels of its machine
 * @param trees the tree channels of its machine; without orders, those of the rings are taken
 * @param treeShape where on its machine the edges of trees to other machines are attached
 */
public record RankChannels(
        int rank, String hostId, boolean gpu, FoundChannels rings, FoundChannels trees, TreeShape treeShape) {

    /** Checks the fields that can be checked alone; the orders are checked when the plan is built. */
    public RankChannels {
        if (rank < 0) {
            throw new IllegalArgumentException("rank=" + rank + ": expected 0 or more");
        }
        Objects.requireNonNull(hostId, "hostId");
        Objects.requireNonNull(rings, "rings");
        Objects.requireNonNull(trees, "trees");
        Objects.requireNonNull(treeShape, "treeShape");
    }

    /** A host rank without a search result: its machine's channel runs through the ranks in ascending order. */
    public RankChannels(int rank, String hostId) {
        this(rank, hostId, false, FoundChannels.ascending(), FoundChannels.ascending(), TreeShape.BALANCED);
    }

    /** The same search result for the ranks of another machine that is equal. */
    public RankChannels renumbered(String host, IntUnaryOperator number) {
        return new RankChannels(
                number.applyAsInt(rank), host, gpu, rings.renumbered(number), trees.renumbered(number), treeShape);
    }

    /** The same search result as another rank of the machine brings it. */
    public RankChannels withRank(int other) {
        return new RankChannels(other, hostId, gpu, rings, trees, treeShape);
    }
}
