package io.jccl.plan;

import io.jccl.search.Pattern;
import io.jccl.topology.PathType;
import java.util.Objects;

/**
 * What the rings or the trees of all hosts have in common.
 *
 * @param pattern the shape of the channels
 * @param channels how many distinct channels run through all hosts; a plan may carry each by several of its own
 * @param bwIntra GB/s of each inside the host that has the least
 * @param bwInter GB/s of each between hosts; equal to {@code bwIntra} on one host
 * @param typeIntra the farthest that two neighbouring ranks of a host are apart
 */
public record GraphSummary(Pattern pattern, int channels, double bwIntra, double bwInter, PathType typeIntra) {

    /** Refuses channels that carry nothing. */
    public GraphSummary {
        Objects.requireNonNull(pattern, "pattern");
        Objects.requireNonNull(typeIntra, "typeIntra");
        if (channels < 1 || !(bwIntra > 0) || !(bwInter > 0)) {
            throw new IllegalArgumentException("channels=" + channels + " bwIntra=" + bwIntra + " bwInter=" + bwInter
                    + ": expected at least 1 channel and more than 0 GB/s");
        }
    }

    /** What all channels carry together over all hosts, in GB/s. */
    public double totalBandwidthGBps() {
        return channels * Math.min(bwIntra, bwInter);
    }

    /** The same with channels that carry no more than so much each. */
    public GraphSummary carryingAtMost(double gbps) {
        return new GraphSummary(pattern, channels, Math.min(bwIntra, gbps), Math.min(bwInter, gbps), typeIntra);
    }

    /**
     * The same where ranks of one host reach each other through the host's memory only.
     *
     * @param gbps what one GPU's link to its host carries each way, in GB/s
     */
    public GraphSummary throughHost(double gbps) {
        PathType type = typeIntra.compareTo(PathType.PHB) < 0 ? PathType.PHB : typeIntra;
        return new GraphSummary(pattern, channels, Math.min(bwIntra, gbps / channels), bwInter, type);
    }
}
