package io.jccl.planning;

/**
 * Limits of a plan from the settings. All ranks must build with equal options.
 *
 * @param minChannels smallest number of channels; found channels are repeated until there are enough
 * @param maxChannels largest number of channels
 */
public record PlanOptions(int minChannels, int maxChannels) {

    /** Largest number of channels of a communicator. */
    public static final int CHANNEL_LIMIT = 64;

    public PlanOptions {
        if (minChannels < 1 || maxChannels < minChannels || maxChannels > CHANNEL_LIMIT) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 1 <= minChannels <= maxChannels <= " + CHANNEL_LIMIT);
        }
    }

    /** Returns options that accept the number of channels that {@link Alignment} determines. */
    public static PlanOptions defaults() {
        return new PlanOptions(1, CHANNEL_LIMIT);
    }
}
