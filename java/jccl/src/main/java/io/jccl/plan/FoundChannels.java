package io.jccl.plan;

import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.PathType;
import java.util.List;
import java.util.Objects;
import java.util.function.IntUnaryOperator;

/**
 * The channels of one kind, rings or trees, that were found on one machine.
 *
 * @param bwIntra GB/s of each channel between ranks of this machine
 * @param bwInter GB/s of each channel to other machines
 * @param typeIntra the farthest that two neighbouring ranks are apart
 * @param typeInter the farthest that a rank is from the network it uses
 * @param crossNic whether a channel may leave by another network device than it came in by
 * @param orders per channel, all ranks of the machine: the first takes what comes from other machines, the last of a ring
 *     sends to them. Empty for one channel through the ranks in ascending order
 * @param rails per channel its network devices; empty where none are known
 */
public record FoundChannels(
        double bwIntra,
        double bwInter,
        PathType typeIntra,
        PathType typeInter,
        boolean crossNic,
        List<List<Integer>> orders,
        List<Rail> rails) {

    /** Takes copies, and checks what can be checked without knowing the ranks of the machine. */
    public FoundChannels {
        Objects.requireNonNull(typeIntra, "typeIntra");
        Objects.requireNonNull(typeInter, "typeInter");
        requireBandwidth("bwIntra", bwIntra);
        requireBandwidth("bwInter", bwInter);
        orders = orders.stream().map(List::copyOf).toList();
        rails = List.copyOf(rails);
        if (orders.size() > PlanOptions.CHANNEL_LIMIT) {
            throw new IllegalArgumentException(
                    "orders=" + orders.size() + ": expected at most " + PlanOptions.CHANNEL_LIMIT);
        }
        if (!rails.isEmpty() && rails.size() != orders.size()) {
            throw new IllegalArgumentException("orders=" + orders.size() + " rails=" + rails.size()
                    + ": expected network devices for all channels or none");
        }
    }

    private static void requireBandwidth(String name, double gbps) {
        if (!(gbps > 0) || Double.isInfinite(gbps)) {
            throw new IllegalArgumentException(name + "=" + gbps + ": expected a bandwidth in GB/s, more than 0");
        }
    }

    /** No search result: one channel through the ranks in ascending order, which bounds no other machine. */
    public static FoundChannels ascending() {
        return of(List.of());
    }

    /** Channels of these orders, of unbounded bandwidth, and without network devices. */
    public static FoundChannels of(List<List<Integer>> orders) {
        return new FoundChannels(
                LinkSpeeds.LOCAL_GBPS, LinkSpeeds.LOCAL_GBPS, PathType.LOC, PathType.LOC, false, orders, List.of());
    }

    /** The number of channels; at least one. */
    public int channels() {
        return Math.max(1, orders.size());
    }

    /** The bandwidths and types without the orders: what a rank adds whose machine's orders another one brings. */
    public FoundChannels withoutOrders() {
        return new FoundChannels(bwIntra, bwInter, typeIntra, typeInter, crossNic, List.of(), List.of());
    }

    /** The same channels with other numbers for the ranks. */
    public FoundChannels renumbered(IntUnaryOperator rank) {
        List<List<Integer>> renumbered = orders.stream()
                .map(order -> order.stream().map(rank::applyAsInt).toList())
                .toList();
        return new FoundChannels(bwIntra, bwInter, typeIntra, typeInter, crossNic, renumbered, rails);
    }

    /** These channels at no more than what {@code other}, another rank of the same machine, found. */
    FoundChannels worst(FoundChannels other) {
        return new FoundChannels(
                Math.min(bwIntra, other.bwIntra),
                Math.min(bwInter, other.bwInter),
                typeIntra.atLeast(other.typeIntra),
                typeInter.atLeast(other.typeInter),
                crossNic || other.crossNic,
                orders,
                rails);
    }
}
