package io.jccl.collnet;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.tuning.AddedHostAlgorithm;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.OperationCost;
import java.util.List;

/**
 * Predicts operations on host memory that go through a network that reduces. Successive chunks travel to the leader,
 * through the network, and from the leader to its host's ranks.
 *
 * @param algorithm {@link Algorithm#COLLNET_DIRECT} or {@link Algorithm#COLLNET_CHAIN}
 * @param traits the capabilities of the network
 */
record CollNetHostAlgorithm(Algorithm algorithm, CollNetTraits traits) implements AddedHostAlgorithm {

    /** Returns both algorithms of a network. */
    static List<AddedHostAlgorithm> of(CollNetTraits traits) {
        return List.of(
                new CollNetHostAlgorithm(Algorithm.COLLNET_DIRECT, traits),
                new CollNetHostAlgorithm(Algorithm.COLLNET_CHAIN, traits));
    }

    private boolean isChain() {
        return algorithm == Algorithm.COLLNET_CHAIN;
    }

    @Override
    public boolean exists(Collective collective, CommunicatorShape shape) {
        return isChain()
                ? collective == Collective.ALL_REDUCE
                : traits.execute(collective) && shape.localRanks() <= CostModel.MAX_DIRECT_RANKS;
    }

    @Override
    public int channels(CommunicatorShape shape) {
        return Math.min(shape.channels(), traits.groups());
    }

    /**
     * In a chain the leader has one neighbour instead of all others of its host, but the ends are farther from it.
     */
    @Override
    public OperationCost cost(Collective collective, CommunicatorShape shape, double share, int chunkBytes) {
        int others = shape.localRanks() - 1;
        int neighbours = isChain() ? Math.min(others, 1) : others;
        int localHops = isChain() ? 2 * others : Math.min(others, 1) * 2;
        double chunks = Math.max(1, Math.ceil(share / chunkBytes));
        // In an all-gather, each rank sends one part and receives all parts; in a reduce-scatter, it sends all parts
        // and receives one.
        double passes = collective == Collective.ALL_REDUCE ? 2 : 1 + 1.0 / shape.ranks();
        double steps = passes * chunks * Math.max(1, neighbours) + localHops;
        return new OperationCost(
                localHops, 2, steps, passes * Math.max(1, neighbours) * (share + Math.min(chunkBytes, share)));
    }

    /** Every byte passes the network once. The groups share the bandwidth that the plug-in reports. */
    @Override
    public double networkNanos(double share, double linkNanosPerByte) {
        return share * (traits.gigabytes() > 0 ? traits.groups() / traits.gigabytes() : linkNanosPerByte);
    }

    @Override
    public double latencyMicros() {
        return traits.latencyMicros();
    }
}
