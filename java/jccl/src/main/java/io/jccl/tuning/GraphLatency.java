package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.GraphSummary;
import io.jccl.tuning.GraphCosts.Medium;

/**
 * Predicts the time in which the first byte of an operation between GPUs travels: the sum of the hops of the schedule.
 */
final class GraphLatency {

    private final GpuShape shape;

    GraphLatency(GpuShape shape) {
        this.shape = shape;
    }

    /** @param twoShot whether a direct all-reduce takes two hops */
    double micros(Collective collective, Algorithm algorithm, Protocol protocol, boolean twoShot, long bytes) {
        double base = GraphCosts.baseMicros(algorithm, protocol);
        if (shape.ranks() == 1) {
            return base;
        }
        return switch (algorithm) {
            case RING -> (base + ringHops(collective, protocol)) * plateau(collective, protocol, bytes);
            case TREE -> base + treeHops(protocol);
            case DIRECT -> base + directHops(collective, protocol, twoShot);
            default -> throw new IllegalArgumentException(
                    "algorithm=" + algorithm.label() + ": expected ring, tree or direct");
        };
    }

    /**
     * Returns the time of the longest path around a ring. An operation of one phase carries a shard to all other ranks;
     * one of two phases does so twice. Each phase crosses at most as many networks as there are hosts.
     */
    private double ringHops(Collective collective, Protocol protocol) {
        int phases = twoPhases(collective) ? 2 : 1;
        double hops = (double) phases * (shape.ranks() - 1);
        if (shape.oneHost()) {
            return hops * GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol);
        }
        double netHops = Math.min(hops, (double) phases * shape.hosts());
        // If each host has one rank, no other hop hides the network's latency. So the latency is that of a hop in a
        // tree.
        Algorithm asIn = shape.localRanks() == 1 ? Algorithm.TREE : Algorithm.RING;
        double net = GraphCosts.hopMicros(Medium.NET, asIn, protocol);
        // A hop inside a host takes at least the time in which the host's processor passes a chunk to the network.
        double local = Math.max(
                GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol),
                GraphCosts.networkStepMicros(shape.amdProcessors(), protocol));
        return (hops - netHops) * local + netHops * net;
    }

    private double plateau(Collective collective, Protocol protocol, long bytes) {
        boolean concerned = !shape.oneHost() && twoPhases(collective) && protocol == Protocol.SIMPLE;
        long shard = bytes / ((long) shape.ring().channels() * shape.ranks());
        return concerned ? GraphCosts.ringPlateau(shape.minCapability(), shard) : 1;
    }

    /** Returns the time up the tree and down again: along the chain of a host, and over the tree of hosts. */
    private double treeHops(Protocol protocol) {
        int net = Math.min(shape.treeDepth(), CommunicatorShape.treeDepthOver(shape.hosts()));
        int local = shape.treeDepth() - net;
        return 2
                * (local * GraphCosts.hopMicros(within(shape.tree()), Algorithm.TREE, protocol)
                        + net * GraphCosts.hopMicros(Medium.NET, Algorithm.TREE, protocol));
    }

    /**
     * Returns the time of one hop, or of two hops. On one host, adds the time of each further peer from which a rank
     * receives; between hosts, that of passing data to the network for each further peer on other hosts.
     */
    private double directHops(Collective collective, Protocol protocol, boolean twoShot) {
        if (shape.oneHost()) {
            double hop = GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol);
            int peers = OperationCost.isPairwise(collective) ? 1 : shape.ranks() - 1;
            return (twoShot ? 2 : 1) * (hop + (peers - 1) * GraphCosts.FURTHER_PEER_US);
        }
        int farPeers = collective == Collective.SEND_RECV ? 1 : shape.ranks() - shape.localRanks();
        return GraphCosts.hopMicros(Medium.NET, Algorithm.RING, protocol)
                + (farPeers - 1) * GraphCosts.networkStepMicros(shape.amdProcessors(), protocol);
    }

    private static Medium within(GraphSummary graph) {
        return Medium.within(graph.typeIntra());
    }

    /** Returns true if an operation has two phases. A barrier is an all-reduce of one element. */
    static boolean twoPhases(Collective collective) {
        return collective == Collective.ALL_REDUCE || collective == Collective.BARRIER;
    }
}
