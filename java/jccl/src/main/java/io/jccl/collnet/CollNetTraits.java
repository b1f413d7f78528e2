package io.jccl.collnet;

import io.jccl.Collective;

/**
 * The capabilities of a network that reduces; equal on all ranks.
 *
 * @param groups number of channels that can use the network at once; each has its own leader on every host
 * @param gathers whether the network can also execute an all-gather and a reduce-scatter of this communicator
 * @param gigabytes bandwidth of a host in each direction in GB/s; 0 if the plug-in does not report it
 * @param latencyMicros latency of an operation in the network, in addition to the time of its bytes; 0 if the plug-in
 *     does not report it
 */
record CollNetTraits(int groups, boolean gathers, double gigabytes, double latencyMicros) {

    CollNetTraits {
        if (groups < 1 || !(gigabytes >= 0) || !(latencyMicros >= 0)) {
            throw new IllegalArgumentException("groups=" + groups + " gigabytes=" + gigabytes + " latencyMicros="
                    + latencyMicros + ": expected at least 1, 0 and 0");
        }
    }

    /** Returns true if the network executes a collective. */
    boolean execute(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE -> true;
            case ALL_GATHER, REDUCE_SCATTER -> gathers;
            default -> false;
        };
    }
}
