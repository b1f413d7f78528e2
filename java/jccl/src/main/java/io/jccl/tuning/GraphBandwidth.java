package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.tuning.GraphCosts.Generation;

/**
 * Predicts the bandwidth of an operation between GPUs. It is the total bandwidth of the channels, reduced by what a
 * protocol spends on flags and by what a channel's threads can move, and divided by the number of times that a byte is
 * carried.
 */
final class GraphBandwidth {

    /**
     * Share of a ring's bandwidth with LL: half is lost to flags, and half of the rest to reducing or to the network.
     * Applies to every operation between hosts; on one host, only to an all-reduce, a reduce and a barrier.
     */
    private static final double RING_LL = 1.0 / 4;

    private static final double RING_LL_COPYING_LOCALLY = 1.0 / 3;
    /**
     * Share of a ring's bandwidth with LL128: 120 of 128 bytes, less the cost of shuffling. Lower if each host has one
     * rank.
     */
    private static final double RING_LL128 = 0.92;

    private static final double RING_LL128_ONE_RANK_PER_HOST = 0.7;
    /** Share of the links' bandwidth that trees reach: ranks that receive from several others are slower. */
    private static final double TREE = 0.92;

    private static final double TREE_LL = 1 / 3.8;
    private static final double TREE_LL128 = 120.0 / 128;
    private static final double TREE_LL128_ONE_HOST = 7.0 / 9;
    /** Share of a tree's bandwidth that is left if one rank of a host carries all traffic with the network. */
    private static final double TREE_AT_ONE_RANK = 0.85;
    /** Number of times that a tree carries each byte: up and down. */
    private static final double TREE_TRIPS = 2;

    private final GpuShape shape;
    private final Generation generation;
    private final double llGBps;

    GraphBandwidth(GpuShape shape) {
        this.shape = shape;
        this.generation = Generation.of(shape.minCapability());
        this.llGBps = GraphCosts.llGBps(generation, shape.hosts(), shape.amdProcessors());
    }

    /**
     * Returns the bytes of the operation per nanosecond. The bytes are the larger of a rank's buffers, as in the algbw
     * of {@code jccl perf}.
     */
    double gbps(Collective collective, Choice choice, long bytes) {
        Protocol protocol = choice.protocol();
        return switch (choice.algorithm()) {
            case RING -> carriedByRing(collective, protocol) / ringTrips(collective);
            case TREE -> carriedByTree(protocol) * GraphCosts.treeFilling(protocol, bytes) / TREE_TRIPS;
            case DIRECT -> direct(collective, protocol) / directTrips(collective, choice.twoShot());
            default -> throw new IllegalArgumentException(
                    "algorithm=" + choice.algorithm().label() + ": expected ring, tree or direct");
        };
    }

    /**
     * Returns the time in microseconds in which the links of a ring or tree carry the bytes of an operation.
     *
     * @param used number of channels that are used, which repeat the found channels in turn
     */
    double linkMicros(Collective collective, Algorithm algorithm, int used, long bytes) {
        if (shape.ranks() == 1) {
            return 0;
        }
        boolean tree = algorithm == Algorithm.TREE;
        int found = (tree ? shape.tree() : shape.ring()).channels();
        int step = tree && !shape.oneHost() ? 2 : 1; // between hosts, two neighbouring channels use the same found tree
        double repeats = step * Math.ceil(Math.ceil((double) used / step) / found);
        double busiest = Math.min(used, repeats) / used; // share of the data on the most repeated found channel
        double trips = tree ? TREE_TRIPS : ringTrips(collective);
        double each = tree ? treeGBpsOfOne() : ringGBpsOfOne();
        return bytes * trips * busiest / each / GraphCosts.BYTES_PER_MICRO;
    }

    /** Returns the bandwidth of all rings together without the costs of any protocol. */
    double ringGBps() {
        return ringGBpsOfOne() * shape.usable(shape.ring());
    }

    private double ringGBpsOfOne() {
        GraphSummary ring = shape.ring();
        return shape.oneHost() ? ring.bwIntra() : Math.min(ring.bwIntra(), ring.bwInter());
    }

    private double carriedByRing(Collective collective, Protocol protocol) {
        double all = ringGBps();
        return switch (protocol) {
            case LL -> Math.min(llGBps, all * ringLl(collective));
            case LL128 -> Math.min(
                    all * (shape.localRanks() < 2 ? RING_LL128_ONE_RANK_PER_HOST : RING_LL128),
                    shape.usable(shape.ring()) * GraphCosts.ringLl128GBps(generation));
            case SIMPLE -> all;
        };
    }

    private double ringLl(Collective collective) {
        return shape.oneHost() && !GraphLatency.twoPhases(collective) && collective != Collective.REDUCE
                ? RING_LL_COPYING_LOCALLY
                : RING_LL;
    }

    /** Returns how often a byte passes a rank's link in an operation. */
    private double ringTrips(Collective collective) {
        double part = (shape.ranks() - 1.0) / shape.ranks();
        return switch (collective) {
            case ALL_REDUCE, BARRIER -> shape.ranks() == 1 ? 1 : 2 * part;
            case ALL_GATHER, REDUCE_SCATTER -> shape.ranks() == 1 ? 1 : part;
            default -> 1;
        };
    }

    /**
     * Returns how often a byte passes a rank's link in a direct operation. Of operations with kernels of their own, only
     * a few channels carry the data.
     */
    private double directTrips(Collective collective, boolean twoShot) {
        double channels = Math.max(1, (double) shape.channels() / DeviceConfig.DIRECT_CHANNELS);
        return switch (collective) {
            case ALL_REDUCE, BARRIER -> channels * (twoShot ? ringTrips(collective) : Math.max(1, shape.ranks() - 1));
            case BROADCAST, REDUCE -> channels * Math.max(1, shape.ranks() - 1);
            case ALL_GATHER, REDUCE_SCATTER -> channels * ringTrips(collective);
            case ALL_TO_ALL, GATHER, SCATTER, SEND_RECV, SCAN, EXSCAN -> 1;
        };
    }

    private double carriedByTree(Protocol protocol) {
        GraphSummary tree = shape.tree();
        double simple =
                Math.min(treeGBps() * TREE, shape.usable(tree) * GraphCosts.treeGBps(generation, shape.hosts()));
        double carried =
                switch (protocol) {
                    case LL -> Math.min(simple * TREE_LL, llGBps);
                    case LL128 -> Math.min(
                            simple * (shape.oneHost() ? TREE_LL128_ONE_HOST : TREE_LL128),
                            shape.usable(tree) * GraphCosts.treeLl128GBps(generation, shape.hosts()));
                    case SIMPLE -> simple;
                };
        return tree.pattern() == Pattern.TREE ? carried * TREE_AT_ONE_RANK : carried;
    }

    /**
     * Returns the bandwidth of all trees together. With two hosts, each host is the root of one tree and a leaf of the
     * other, so half of the data travels in each direction. With more hosts all data travels in each.
     */
    private double treeGBps() {
        return treeGBpsOfOne() * shape.usable(shape.tree());
    }

    private double treeGBpsOfOne() {
        GraphSummary tree = shape.tree();
        return switch (shape.hosts()) {
            case 1 -> tree.bwIntra();
            case 2 -> Math.min(tree.bwIntra(), 2 * tree.bwInter());
            default -> Math.min(tree.bwIntra(), tree.bwInter());
        };
    }

    /**
     * Returns an upper bound for the direct algorithm: assumes that every rank's paths to all others are as wide as its
     * rings, and that ranks share networks evenly.
     */
    private double direct(Collective collective, Protocol protocol) {
        double all = ringGBps();
        if (collective != Collective.SEND_RECV && !shape.oneHost()) {
            double toOthers = (shape.ranks() - shape.localRanks()) / (double) shape.ranks();
            boolean everyRankSends = collective == Collective.ALL_TO_ALL;
            double perRank = all / (everyRankSends ? shape.localRanks() : 1) / toOthers;
            all = Math.min(perRank, shape.ring().bwIntra() * shape.usable(shape.ring()));
        }
        return protocol == Protocol.LL ? Math.min(llGBps, all * ringLl(collective)) : all;
    }
}
