package io.jccl.plan;

import io.jccl.topology.PathType;

/**
 * What the rings or the trees of all machines have in common.
 *
 * @param channels how many distinct channels run through all machines; a plan may carry each by several of its own
 * @param bwIntra GB/s of each inside the machine that has the least
 * @param bwInter GB/s of each between machines; equal to {@code bwIntra} on one machine
 * @param typeIntra the farthest that two neighbouring ranks of a machine are apart
 * @param typeInter the farthest that a rank is from the network it uses
 * @param crossNic whether any channel leaves a machine by another network device than it came in by
 */
public record AgreedGraph(
        int channels, double bwIntra, double bwInter, PathType typeIntra, PathType typeInter, boolean crossNic) {

    /** What all channels carry together over all machines, in GB/s. */
    public double totalBandwidthGBps() {
        return channels * Math.min(bwIntra, bwInter);
    }
}
