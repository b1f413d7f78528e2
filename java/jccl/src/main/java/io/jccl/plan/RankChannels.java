package io.jccl.plan;

import java.util.List;
import java.util.Objects;

/**
 * What one rank brings to the plan: where it runs, and the channels that were found on its machine.
 *
 * <p>The ranks of one machine normally bring equal orders, because each of them searched the same topology. Where they
 * differ the lowest rank's are taken, so that all ranks still agree.
 *
 * @param rank this rank, 0 to size-1
 * @param hostId what tells machines apart: ranks with equal ids are on one machine
 * @param ringOrders per channel, all ranks of the machine in ring order; empty lets the plan order them by rank
 * @param treeOrders per channel, all ranks of the machine in chain order; empty takes the ring orders
 */
public record RankChannels(int rank, String hostId, List<List<Integer>> ringOrders, List<List<Integer>> treeOrders) {

    /** Checks the fields that can be checked alone; the orders are checked when the plan is built. */
    public RankChannels {
        if (rank < 0) {
            throw new IllegalArgumentException("rank=" + rank + ": expected 0 or more");
        }
        Objects.requireNonNull(hostId, "hostId");
        ringOrders = ringOrders.stream().map(List::copyOf).toList();
        treeOrders = treeOrders.stream().map(List::copyOf).toList();
    }

    /** A rank without a search result: its machine's channels run through the ranks in ascending order. */
    public RankChannels(int rank, String hostId) {
        this(rank, hostId, List.of(), List.of());
    }
}
