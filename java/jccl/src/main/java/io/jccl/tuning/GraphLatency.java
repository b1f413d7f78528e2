package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.plan.GraphSummary;
import io.jccl.tuning.GraphCosts.Medium;

/** How long the first byte of an operation between GPUs is on its way: its hops, counted from the schedule, and priced. */
final class GraphLatency {

    private final GpuShape shape;

    GraphLatency(GpuShape shape) {
        this.shape = shape;
    }

    double micros(Collective collective, Algorithm algorithm, Protocol protocol, long bytes) {
        double base = GraphCosts.baseMicros(algorithm, protocol);
        if (shape.ranks() == 1) {
            return base;
        }
        return switch (algorithm) {
            case RING -> (base + ringHops(collective, protocol)) * plateau(collective, protocol, bytes);
            case TREE -> base + treeHops(protocol);
            case DIRECT -> base + directHops(collective, protocol);
        };
    }

    /**
     * The longest way round a ring. An operation of one phase takes a piece to all other ranks, one of two phases takes it
     * there twice; each phase crosses at most as many networks as there are machines.
     */
    private double ringHops(Collective collective, Protocol protocol) {
        int phases = twoPhases(collective) ? 2 : 1;
        double hops = (double) phases * (shape.ranks() - 1);
        if (shape.oneMachine()) {
            return hops * GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol);
        }
        double netHops = Math.min(hops, (double) phases * shape.machines());
        // Where each machine has one rank no other hop hides the network's latency, as in a tree.
        Algorithm asIn = shape.localRanks() == 1 ? Algorithm.TREE : Algorithm.RING;
        double net = GraphCosts.hopMicros(Medium.NET, asIn, protocol);
        // Pieces leave the machine as fast as its processor hands them over; no hop inside is faster than that.
        double local = Math.max(
                GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol),
                GraphCosts.networkStepMicros(shape.amdProcessors(), protocol));
        return (hops - netHops) * local + netHops * net;
    }

    private double plateau(Collective collective, Protocol protocol, long bytes) {
        boolean concerned = !shape.oneMachine() && twoPhases(collective) && protocol == Protocol.SIMPLE;
        long piece = bytes / ((long) shape.ring().channels() * shape.ranks());
        return concerned ? GraphCosts.ringPlateau(shape.minCapability(), piece) : 1;
    }

    /** Up and down again: along the chain of a machine, and over the tree of machines. */
    private double treeHops(Protocol protocol) {
        int net = Math.min(shape.treeDepth(), CommunicatorShape.treeDepthOver(shape.machines()));
        int local = shape.treeDepth() - net;
        return 2
                * (local * GraphCosts.hopMicros(within(shape.tree()), Algorithm.TREE, protocol)
                        + net * GraphCosts.hopMicros(Medium.NET, Algorithm.TREE, protocol));
    }

    /** One hop, and the handing over of what goes to each rank of other machines. */
    private double directHops(Collective collective, Protocol protocol) {
        if (shape.oneMachine()) {
            return GraphCosts.hopMicros(within(shape.ring()), Algorithm.RING, protocol);
        }
        int farPeers = collective == Collective.SEND_RECV ? 1 : shape.ranks() - shape.localRanks();
        return GraphCosts.hopMicros(Medium.NET, Algorithm.RING, protocol)
                + (farPeers - 1) * GraphCosts.networkStepMicros(shape.amdProcessors(), protocol);
    }

    private static Medium within(GraphSummary graph) {
        return Medium.within(graph.typeIntra());
    }

    /** A barrier is an all-reduce of one element. */
    static boolean twoPhases(Collective collective) {
        return collective == Collective.ALL_REDUCE || collective == Collective.BARRIER;
    }
}
