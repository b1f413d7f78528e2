package io.jccl.tuning;

import io.jccl.plan.AgreedGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.PathType;
import java.util.Objects;

/**
 * What the cost model has to know of the channels found on a machine; where machines differ, of what all of them have.
 *
 * @param pattern the shape of the channels
 * @param channels how many were found, before any is repeated
 * @param bwIntra GB/s of each channel between ranks of one machine
 * @param bwInter GB/s of each channel to other machines
 * @param typeIntra the farthest that two neighbouring ranks are apart
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

    /**
     * The same where ranks of one machine reach each other through the host's memory only.
     *
     * @param gbps what one GPU's link to its host carries each way, in GB/s
     */
    GraphSummary throughHost(double gbps) {
        PathType type = typeIntra.compareTo(PathType.PHB) < 0 ? PathType.PHB : typeIntra;
        return new GraphSummary(pattern, channels, Math.min(bwIntra, gbps / channels), bwInter, type);
    }

    /** The summary of what the channels of all machines have in common. */
    static GraphSummary of(Pattern pattern, AgreedGraph agreed) {
        return new GraphSummary(pattern, agreed.channels(), agreed.bwIntra(), agreed.bwInter(), agreed.typeIntra());
    }
}
