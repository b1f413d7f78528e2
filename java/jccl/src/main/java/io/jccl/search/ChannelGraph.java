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
 * @param bwIntra GB/s of each channel between ranks of this host
 * @param bwInter GB/s of each channel to other hosts; equal to {@code bwIntra} where networks play no part
 * @param typeIntra the farthest that two neighbouring ranks are apart
 * @param typeInter the farthest that a rank is from the network it uses
 * @param crossNic whether a channel may leave by another network device than it came in by
 * @param orders per channel, all ranks of the host: the first takes what comes from other hosts, the last of a ring sends
 *     to them. Empty for one channel through the ranks in ascending order
 * @param rails per channel its network devices; empty where networks play no part
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

    /** Takes copies, and checks what can be checked without knowing the ranks of the host. */
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

    /** The bandwidths and types without the orders: what a rank adds whose host's orders another one brings. */
    public ChannelGraph withoutOrders() {
        return with(List.of(), List.of());
    }

    /** The same bandwidths and types on the channels of another graph. */
    public ChannelGraph along(ChannelGraph other) {
        return with(other.orders, other.rails);
    }

    /** The same channels with other numbers for the ranks. */
    public ChannelGraph renumbered(IntUnaryOperator rank) {
        return with(
                orders.stream()
                        .map(order -> order.stream().map(rank::applyAsInt).toList())
                        .toList(),
                rails);
    }

    /** These channels at no more than what {@code other}, another rank of the same host, found. */
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

    /** The same channels through other ranks, at no more than so many GB/s each. */
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

    /** The number of channels; at least one. */
    public int channels() {
        return Math.max(1, orders.size());
    }

    /** What all channels carry together between ranks of this host, in GB/s. */
    public double totalBandwidthGBps() {
        return bwIntra * channels();
    }

    /** What all channels carry together to other hosts, in GB/s. */
    public double interBandwidthGBps() {
        return bwInter * channels();
    }
}
