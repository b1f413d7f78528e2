package io.jccl.collnet;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.GraphSummary;
import io.jccl.topology.PathType;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.GpuShape;
import java.util.List;

/**
 * Predicts operations on GPU memory that go through a network that reduces. The GPUs of a host form a tree or a chain
 * that leads to the network. The constants are values that NVIDIA measured and published with NCCL, for SIMPLE.
 *
 * @param algorithm {@link Algorithm#COLLNET_DIRECT} for a tree, or {@link Algorithm#COLLNET_CHAIN}
 * @param traits the capabilities of the network
 */
record CollNetGpuAlgorithm(Algorithm algorithm, CollNetTraits traits) implements AddedGpuAlgorithm {

    /** Times of a chain: one hop, and the way through the network and back. */
    private static final double CHAIN_HOP_US = 2.8;

    private static final double NETWORK_BY_CHAIN_US = 30;

    /** Times of a tree: one hop, each child of a rank in addition, and the way through the network and back. */
    private static final double TREE_HOP_US = 3.7;

    private static final double TREE_CHILD_US = 0.4;
    private static final double NETWORK_BY_TREE_US = 31;

    /** Returns both algorithms of a network. */
    static List<AddedGpuAlgorithm> of(CollNetTraits traits) {
        return List.of(
                new CollNetGpuAlgorithm(Algorithm.COLLNET_DIRECT, traits),
                new CollNetGpuAlgorithm(Algorithm.COLLNET_CHAIN, traits));
    }

    private boolean isChain() {
        return algorithm == Algorithm.COLLNET_CHAIN;
    }

    @Override
    public boolean exists(Collective collective, Protocol protocol, GpuShape shape) {
        return protocol == Protocol.SIMPLE
                && (isChain() ? traits.execute(collective) : collective == Collective.ALL_REDUCE);
    }

    @Override
    public int channels(GpuShape shape) {
        return Math.min(shape.channels(), traits.groups());
    }

    @Override
    public double latencyMicros(GpuShape shape) {
        return (isChain() ? chainMicros(shape.localRanks()) : treeMicros(shape.localRanks())) + traits.latencyMicros();
    }

    private static double chainMicros(int ranks) {
        return 2 * (ranks - 1) * CHAIN_HOP_US + NETWORK_BY_CHAIN_US;
    }

    private static double treeMicros(int ranks) {
        int levels = 0;
        for (int width = 1, reached = 1; reached < ranks; reached += width) {
            width *= GraphSummary.MAX_TREE_CHILDREN;
            levels++;
        }
        int children = Math.min(ranks - 1, GraphSummary.MAX_TREE_CHILDREN);
        return 2 * levels * (TREE_HOP_US + children * TREE_CHILD_US) + NETWORK_BY_TREE_US;
    }

    /**
     * Returns the bandwidth between a host and the network. A byte travels to the network and back, so each network
     * device carries it once in each direction.
     */
    @Override
    public double gbps(Collective collective, GpuShape shape) {
        GraphSummary tree = shape.tree();
        double each = shape.localRanks() == 1
                ? tree.bwInter()
                : Math.min(tree.bwIntra() / (isChain() ? 1 : treeTrips(shape)), tree.bwInter());
        double carried = each * usedChannels(shape);
        return traits.gigabytes() > 0 ? Math.min(carried, traits.gigabytes()) : carried;
    }

    /**
     * Returns how often a byte passes the links of a GPU in the tree of a host. A GPU receives from every GPU below it.
     * Over NVLink all peers are equally near, so at best the channels share that load. Then a GPU is one of the first
     * two ranks, which have the most ranks below them, in only two of the channels.
     */
    private double treeTrips(GpuShape shape) {
        int children = Math.min(shape.localRanks() - 1, GraphSummary.MAX_TREE_CHILDREN);
        boolean shared = shape.tree().typeIntra().compareTo(PathType.C2C) <= 0;
        double part = shared ? Math.min(1, 2.0 / usedChannels(shape)) : 1;
        return Math.max(1, children * part);
    }

    private int usedChannels(GpuShape shape) {
        return Math.min(shape.usable(shape.tree()), traits.groups());
    }
}
