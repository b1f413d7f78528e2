package io.jccl.planning;

import io.jccl.tuning.DeviceModel;

/**
 * Limits of a plan from the settings. All ranks must build with equal options.
 *
 * @param minChannels smallest number of channels; found channels are repeated until there are enough
 * @param maxChannels largest number of channels
 * @param blockGBps bandwidth of one thread block of a GPU in a ring, in GB/s
 */
public record PlanOptions(int minChannels, int maxChannels, double blockGBps) {

    /** Largest number of channels of a communicator. */
    public static final int CHANNEL_LIMIT = 64;

    /** Options for the thread blocks of unknown GPUs. */
    public PlanOptions(int minChannels, int maxChannels) {
        this(minChannels, maxChannels, DeviceModel.ringGBpsOfBlock(0));
    }

    public PlanOptions {
        if (minChannels < 1 || maxChannels < minChannels || maxChannels > CHANNEL_LIMIT) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 1 <= minChannels <= maxChannels <= " + CHANNEL_LIMIT);
        }
    }

    /** Returns these options for GPUs of at least a compute capability (times ten). */
    PlanOptions onGpus(int capability) {
        return new PlanOptions(minChannels, maxChannels, DeviceModel.ringGBpsOfBlock(capability));
    }

    /** Returns options that accept the number of channels that {@link Alignment} determines. */
    public static PlanOptions defaults() {
        return new PlanOptions(1, CHANNEL_LIMIT);
    }
}
