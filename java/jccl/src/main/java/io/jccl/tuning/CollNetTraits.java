package io.jccl.tuning;

/**
 * What a network that reduces can do; equal on all ranks.
 *
 * @param groups how many channels can use it at once: each has a leader of its own on every host
 * @param gathers whether it gathers and scatters the data of these ranks, too
 * @param gigabytes what a host sends, and receives, in a second; 0 where the plug-in does not say
 * @param latencyMicros what an operation takes in the network beside its bytes; 0 where the plug-in does not say
 */
public record CollNetTraits(int groups, boolean gathers, double gigabytes, double latencyMicros) {

    /** Checks that the numbers make sense. */
    public CollNetTraits {
        if (groups < 1 || !(gigabytes >= 0) || !(latencyMicros >= 0)) {
            throw new IllegalArgumentException("groups=" + groups + " gigabytes=" + gigabytes + " latencyMicros="
                    + latencyMicros + ": expected at least 1, 0 and 0");
        }
    }
}
