package io.jccl.plan;

/**
 * What the settings say about a plan. All ranks must build with equal options.
 *
 * @param minChannels at least so many channels; found ones are repeated until there are enough
 * @param maxChannels at most so many channels
 */
public record PlanOptions(int minChannels, int maxChannels) {

    /** The most channels that a communicator can have. */
    public static final int CHANNEL_LIMIT = 64;

    /** Checks the bounds against each other. */
    public PlanOptions {
        if (minChannels < 1 || maxChannels < minChannels || maxChannels > CHANNEL_LIMIT) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 1 <= minChannels <= maxChannels <= " + CHANNEL_LIMIT);
        }
    }

    /** As many channels as the hosts and {@link Alignment} make of what was found. */
    public static PlanOptions defaults() {
        return new PlanOptions(1, CHANNEL_LIMIT);
    }
}
