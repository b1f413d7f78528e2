package io.jccl.plan;

import java.util.Objects;

/**
 * What the settings say about a plan. All ranks must build with equal options.
 *
 * @param minChannels at least so many channels; found ones are repeated until there are enough
 * @param maxChannels at most so many channels
 * @param treeShape where on a machine the edges to other machines are attached
 */
public record PlanOptions(int minChannels, int maxChannels, TreeShape treeShape) {

    /** The most channels that a communicator can have. */
    public static final int CHANNEL_LIMIT = 64;

    /** Checks the bounds against each other. */
    public PlanOptions {
        Objects.requireNonNull(treeShape, "treeShape");
        if (minChannels < 1 || maxChannels < minChannels || maxChannels > CHANNEL_LIMIT) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 1 <= minChannels <= maxChannels <= " + CHANNEL_LIMIT);
        }
    }

    /** As many channels as were found, doubled between machines so that both trees have one; balanced trees. */
    public static PlanOptions defaults() {
        return new PlanOptions(1, CHANNEL_LIMIT, TreeShape.BALANCED);
    }

    /** The same options with exactly so many channels. */
    public PlanOptions withChannels(int channels) {
        return new PlanOptions(channels, channels, treeShape);
    }
}
