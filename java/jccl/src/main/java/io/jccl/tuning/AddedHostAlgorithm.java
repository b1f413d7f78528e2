package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;

/**
 * An algorithm between host ranks that a part adds to one communicator. {@link CostModel} predicts its hops, steps and
 * bytes with the measured costs of the direct algorithm. In addition, data travels through a network that works on its
 * own. Equal on all ranks, immutable, safe to share.
 */
public interface AddedHostAlgorithm {

    /** Returns the name of the algorithm, by which settings and reports refer to it. */
    Algorithm algorithm();

    /** Returns true if the communicator can execute the collective with this algorithm. */
    boolean exists(Collective collective, CommunicatorShape shape);

    /** Returns the largest number of channels that can use this algorithm. */
    int channels(CommunicatorShape shape);

    /**
     * Returns the cost of an operation, with at least one hop between hosts.
     *
     * @param share the bytes of each channel
     */
    OperationCost cost(Collective collective, CommunicatorShape shape, double share, int chunkBytes);

    /**
     * Returns the time in nanoseconds that the network needs for the data of a channel. Ranks work during the same
     * time.
     *
     * @param share the bytes of the channel
     * @param linkNanosPerByte the time in nanoseconds in which a link between hosts carries a byte
     */
    double networkNanos(double share, double linkNanosPerByte);

    /** Returns the latency of the network in microseconds, in addition to the hops between hosts. */
    double latencyMicros();
}
