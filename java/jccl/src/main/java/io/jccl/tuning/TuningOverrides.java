package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import java.util.Objects;

/**
 * What the settings say about the choice; the same on every rank.
 *
 * @param algorithms which algorithms may be used ({@code JCCL_ALGO})
 * @param protocols which protocols may be used ({@code JCCL_PROTO})
 * @param minChannels at least so many channels, 0 for no bound; the plan's count is the upper limit
 * @param maxChannels at most so many channels, 0 for no bound
 * @param chunkBytes the size of a step, 0 to choose it
 */
public record TuningOverrides(
        Selection<Algorithm> algorithms,
        Selection<Protocol> protocols,
        int minChannels,
        int maxChannels,
        int chunkBytes) {

    /** Checks the bounds against each other. */
    public TuningOverrides {
        Objects.requireNonNull(algorithms, "algorithms");
        Objects.requireNonNull(protocols, "protocols");
        if (minChannels < 0 || maxChannels < 0 || maxChannels > 0 && minChannels > maxChannels) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 0 <= minChannels <= maxChannels, or maxChannels=0 for no bound");
        }
        if (chunkBytes < 0) {
            throw new IllegalArgumentException("chunkBytes=" + chunkBytes + ": expected 0 or more");
        }
    }

    /** No overrides. */
    public static TuningOverrides none() {
        return new TuningOverrides(Selection.all(Algorithm.class), Selection.all(Protocol.class), 0, 0, 0);
    }

    /** Overrides as the settings give them; null or blank texts restrict nothing. */
    public static TuningOverrides of(
            String algorithms, String protocols, int minChannels, int maxChannels, int chunkBytes) {
        return new TuningOverrides(
                Selection.parse(Algorithm.class, "JCCL_ALGO", algorithms),
                Selection.parse(Protocol.class, "JCCL_PROTO", protocols),
                minChannels,
                maxChannels,
                chunkBytes);
    }
}
