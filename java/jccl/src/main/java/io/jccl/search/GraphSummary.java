package io.jccl.search;

import io.jccl.topology.PathType;
import java.util.Objects;

/**
 * The common properties of the rings, or of the trees, of all hosts.
 *
 * @param pattern the shape of the channels
 * @param channels number of distinct channels that run through all hosts; a plan may have several channels for each
 * @param bwIntra bandwidth of each channel inside a host, in GB/s; the lowest of all hosts
 * @param bwInter bandwidth of each channel between hosts, in GB/s; equal to {@code bwIntra} on one host
 * @param typeIntra the farthest path type between two neighbouring ranks of a host
 */
public record GraphSummary(Pattern pattern, int channels, double bwIntra, double bwInter, PathType typeIntra) {

    /** Largest number of children of a rank in a tree, for example two hosts below its own and the next rank of the chain. */
    public static final int MAX_TREE_CHILDREN = 3;

    public GraphSummary {
        Objects.requireNonNull(pattern, "pattern");
        Objects.requireNonNull(typeIntra, "typeIntra");
        if (channels < 1 || !(bwIntra > 0) || !(bwInter > 0)) {
            throw new IllegalArgumentException("channels=" + channels + " bwIntra=" + bwIntra + " bwInter=" + bwInter
                    + ": expected at least 1 channel and more than 0 GB/s");
        }
    }

    /** Returns the bandwidth of all channels together over all hosts, in GB/s. */
    public double totalBandwidthGBps() {
        return channels * Math.min(bwIntra, bwInter);
    }

    /**
     * Returns this summary for ranks of one host that reach each other only through host memory.
     *
     * @param gbps bandwidth of one GPU's link to its host in each direction, in GB/s
     */
    public GraphSummary throughHost(double gbps) {
        PathType type = typeIntra.compareTo(PathType.PHB) < 0 ? PathType.PHB : typeIntra;
        return new GraphSummary(pattern, channels, Math.min(bwIntra, gbps / channels), bwInter, type);
    }
}
