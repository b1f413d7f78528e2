package io.jccl.search;

import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntUnaryOperator;

/**
 * The channels of one kind, rings or trees, that were found on one host.
 *
 * @param pattern their shape
 * @param bwIntra bandwidth of each channel between ranks of this host, in GB/s
 * @param bwInter bandwidth of each channel to other hosts, in GB/s; equal to {@code bwIntra} if no networks are used
 * @param typeIntra the farthest path type between two neighbouring ranks
 * @param typeInter the farthest path type between a rank and its network device
 * @param crossNic whether a channel may leave by another network device than the one by which it enters
 * @param orders for each channel, all ranks of the host. The first rank receives from other hosts, and the last rank of
 *     a ring sends to them. An empty list means one channel through the ranks in ascending order
 * @param rails the network devices of each channel; empty if no networks are used
 */
public record ChannelGraph(
        Pattern pattern,
        double bwIntra,
        double bwInter,
        PathType typeIntra,
        PathType typeInter,
        boolean crossNic,
        List<List<Integer>> orders,
        List<Rail> rails) {

    /** Copies the lists, and checks everything that does not require knowledge of the host's ranks. */
    public ChannelGraph {
        Objects.requireNonNull(pattern, "pattern");
        Objects.requireNonNull(typeIntra, "typeIntra");
        Objects.requireNonNull(typeInter, "typeInter");
        requireBandwidth("bwIntra", bwIntra);
        requireBandwidth("bwInter", bwInter);
        List<List<Integer>> copies = new ArrayList<>();
        for (List<Integer> order : orders) {
            copies.add(List.copyOf(order));
        }
        orders = List.copyOf(copies);
        rails = List.copyOf(rails);
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

    private ChannelGraph with(List<List<Integer>> otherOrders, List<Rail> otherRails) {
        return new ChannelGraph(pattern, bwIntra, bwInter, typeIntra, typeInter, crossNic, otherOrders, otherRails);
    }

    /**
     * Returns the bandwidths and path types without orders. A rank contributes such a graph if another rank of its host
     * contributes the orders.
     */
    public ChannelGraph withoutOrders() {
        return with(List.of(), List.of());
    }

    /** Returns the channels of {@code other} with the bandwidths and path types of this graph. */
    public ChannelGraph along(ChannelGraph other) {
        return with(other.orders, other.rails);
    }

    /** Returns the same channels with other rank numbers. */
    public ChannelGraph renumbered(IntUnaryOperator rank) {
        return with(
                orders.stream()
                        .map(order -> order.stream().map(rank::applyAsInt).toList())
                        .toList(),
                rails);
    }

    /**
     * Returns these channels with the lower bandwidths and the farther path types of two graphs: this one, and
     * {@code other}, which another rank of the same host found.
     */
    public ChannelGraph worst(ChannelGraph other) {
        return new ChannelGraph(
                pattern,
                Math.min(bwIntra, other.bwIntra),
                Math.min(bwInter, other.bwInter),
                typeIntra.max(other.typeIntra),
                typeInter.max(other.typeInter),
                crossNic || other.crossNic,
                orders,
                rails);
    }

    /** Returns the same channels through other ranks, each with at most {@code maxGBps}. */
    ChannelGraph through(List<List<Integer>> others, double maxGBps) {
        return new ChannelGraph(
                pattern,
                Math.min(bwIntra, maxGBps),
                Math.min(bwInter, maxGBps),
                typeIntra,
                typeInter,
                crossNic,
                others,
                rails);
    }

    /** Returns the number of channels; at least one. */
    public int channels() {
        return Math.max(1, orders.size());
    }

    /** Returns the bandwidth of all channels together between ranks of this host, in GB/s. */
    public double totalBandwidthGBps() {
        return bwIntra * channels();
    }

    /** Returns the bandwidth of all channels together to other hosts, in GB/s. */
    public double interBandwidthGBps() {
        return bwInter * channels();
    }
}
