package io.jccl.search;

import io.jccl.topology.PathType;
import java.util.List;

/**
 * The channels that were found on one machine.
 *
 * @param pattern their shape
 * @param bwIntra GB/s of each channel between ranks of this machine
 * @param bwInter GB/s of each channel to other machines; equal to {@code bwIntra} where networks play no part
 * @param typeIntra the farthest that two neighbouring ranks are apart
 * @param typeInter the farthest that a rank is from the network it uses
 * @param crossNic whether a channel may leave by another network device than it came in by
 * @param orders per channel the ranks in order
 * @param nets per channel the network devices that it comes in and leaves by; empty where networks play no part
 */
public record ChannelGraph(
        Pattern pattern,
        double bwIntra,
        double bwInter,
        PathType typeIntra,
        PathType typeInter,
        boolean crossNic,
        List<List<Integer>> orders,
        List<Nets> nets) {

    /**
     * The network devices of a channel.
     *
     * @param in the device it comes in by
     * @param out the device it leaves by
     */
    public record Nets(int in, int out) {}

    /** Takes copies, and checks that the lists fit each other. */
    public ChannelGraph {
        orders = orders.stream().map(List::copyOf).toList();
        nets = List.copyOf(nets);
        if (orders.isEmpty() || !nets.isEmpty() && nets.size() != orders.size()) {
            throw new IllegalArgumentException("orders=" + orders.size() + " nets=" + nets.size()
                    + ": expected at least one order, and devices for all channels or none");
        }
    }

    /** The same channels through other ranks, at no more than so many GB/s each. */
    ChannelGraph through(List<List<Integer>> others, double mostGBps) {
        return new ChannelGraph(
                pattern,
                Math.min(bwIntra, mostGBps),
                Math.min(bwInter, mostGBps),
                typeIntra,
                typeInter,
                crossNic,
                others,
                nets);
    }

    /** The number of channels. */
    public int channels() {
        return orders.size();
    }

    /** What all channels carry together between ranks of this machine, in GB/s. */
    public double totalBandwidthGBps() {
        return bwIntra * channels();
    }

    /** What all channels carry together to other machines, in GB/s. */
    public double interBandwidthGBps() {
        return bwInter * channels();
    }

    /** Whether all channels visit the ranks in one order. */
    public boolean sameChannels() {
        return orders.stream().distinct().count() == 1;
    }
}
