package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.plan.TreeLinks;
import io.jccl.topology.PathType;

/**
 * The constants of the cost model for GPUs, one table for each fact. Their source, unless a table names another: the
 * values that NVIDIA measured and published with NCCL up to 2.30 (its tuner's constants, which its tuner plug-ins may
 * read and change). Microseconds and GB/s; protocols in the order LL, LL128, SIMPLE.
 */
final class GraphCosts {

    private GraphCosts() {}

    /** What a hop leads over. */
    enum Medium {
        NVLINK,
        PCI,
        NET;

        /** What neighbours on one host are joined by. NVLink to a processor is NVLink. */
        static Medium within(PathType type) {
            if (type.compareTo(PathType.C2C) <= 0) {
                return NVLINK;
            }
            return type.compareTo(PathType.NET) < 0 ? PCI : NET;
        }
    }

    /** Generations of GPUs that differ in what a channel can do. */
    enum Generation {
        VOLTA,
        AMPERE,
        HOPPER,
        BLACKWELL;

        private static final int[] FIRST_CAPABILITY = {0, 80, 90, 100};

        /** The generation of a compute capability times ten; older and unknown ones count as Volta. */
        static Generation of(int capability) {
            Generation found = VOLTA;
            for (Generation generation : values()) {
                if (capability >= FIRST_CAPABILITY[generation.ordinal()]) {
                    found = generation;
                }
            }
            return found;
        }
    }

    /** Launch and set-up of an operation. */
    private static final double[] RING_BASE_US = {6.6, 14.0, 8.4};

    private static final double[] TREE_BASE_US = {6.8, 14.0, 8.4};

    /** One hop in a ring, by medium. */
    private static final double[][] RING_HOP_US = {
        {0.6, 1.9, 3.4},
        {1.0, 2.5, 5.7},
        {2.7, 4.0, 14.0},
    };

    /** One hop in a tree, by medium: no transfer at the same time hides it. */
    private static final double[][] TREE_HOP_US = {
        {0.6, 1.25, 4.0},
        {1.0, 1.9, 4.0},
        {5.0, 8.5, 14.0},
    };

    /** Of a chain to a network that reduces, with SIMPLE: one hop inside a host, and the network there and back. */
    private static final double CHAIN_HOP_US = 2.8;

    private static final double REDUCING_NETWORK_US = 30;

    /** The same of a tree: one hop, what each rank below another adds to it, and the network there and back. */
    private static final double HOST_TREE_HOP_US = 3.7;

    private static final double HOST_TREE_CHILD_US = 0.4;
    private static final double REDUCING_NETWORK_BY_TREE_US = 31;

    /** What passing a step to the network costs the processor: Intel and others, AMD. SIMPLE pays it three times. */
    private static final double[] NETWORK_STEP_US = {1.0, 2.0};

    private static final int SIMPLE_NETWORK_STEPS = 3;

    /** What LL moves on one host with all channels, by generation. */
    private static final double[] LL_LOCAL_GBPS = {39.0, 87.7, 141.0, 282.0};

    /** What LL moves between 2, and between more hosts, with processors of Intel and others: they compare the flags. */
    private static final double[] LL_INTEL_GBPS = {39.0, 20.4};

    /** The same with processors of AMD, by generation of the GPUs. */
    private static final double[][] LL_AMD_GBPS = {{39.0, 20.4}, {22.5, 19.0}, {45.0, 35.0}, {90.0, 70.0}};

    /** What one channel of a ring moves with LL128, by generation; the same on any number of hosts. */
    private static final double[] RING_LL128_GBPS = {20.0, 20.0, 36.7, 40.0};

    /** What one channel of a tree moves with LL128, by generation, on 1, 2 and more hosts. */
    private static final double[][] TREE_LL128_GBPS = {
        {20.0, 20.0, 20.0},
        {20.0, 20.0, 20.0},
        {36.7, 36.7, 29.0},
        {55.6, 31.67, 20.0},
    };

    /** What one channel of a tree moves with any protocol, by generation, on 1, 2 and more hosts. */
    private static final double[][] TREE_GBPS = {
        {26.5, 18.5, 10.0},
        {24.0, 23.6, 17.8},
        {38.7, 41.4, 36.0},
        {70.0, 42.8, 24.0},
    };

    /** Part of a tree's bandwidth that is left at sizes where its pipeline fills, by protocol, for 64 B, 128 B, … 256 MiB. */
    private static final double[][] TREE_FILLING = {
        {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
        {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
        {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
    };

    private static final double SMALLEST_FILLING_BYTES = 64;

    /** Launch, both meetings of all ranks and the switch. */
    static final double SWITCH_US = 25;

    /** Part of a link's bandwidth that is left when the switch reduces, by generation. */
    private static final double[] SWITCH_EFFICIENCY = {0, 0, 0.85, 0.74};

    /**
     * How much longer hops of a SIMPLE ring over hosts take once its shards have filled a line: before 80, and since.
     */
    private static final double[] RING_PLATEAU = {1.9, 1.4};

    private static final int PLATEAU_CAPABILITY = 80;
    private static final int PLATEAU_SHARD_BYTES = 64;

    /** Threads of a channel, by protocol; SIMPLE needs half of them where rings are no faster than PCI of generation 3. */
    private static final int[] THREADS = {512, 640, 512};

    private static final int SLOW_SIMPLE_THREADS = 256;
    private static final double SLOW_GBPS = 12.0;

    static double switchEfficiency(Generation generation) {
        return SWITCH_EFFICIENCY[generation.ordinal()];
    }

    static double baseMicros(Algorithm algorithm, Protocol protocol) {
        return (algorithm == Algorithm.TREE ? TREE_BASE_US : RING_BASE_US)[protocol.ordinal()];
    }

    static double hopMicros(Medium medium, Algorithm algorithm, Protocol protocol) {
        return (algorithm == Algorithm.TREE ? TREE_HOP_US : RING_HOP_US)[medium.ordinal()][protocol.ordinal()];
    }

    /** How long the first byte travels to a network that reduces and back, by a chain of so many ranks. */
    static double chainMicros(int ranks) {
        return 2 * (ranks - 1) * CHAIN_HOP_US + REDUCING_NETWORK_US;
    }

    /** The same by the tree of a host. */
    static double hostTreeMicros(int ranks) {
        int levels = 0;
        for (int width = 1, reached = 1; reached < ranks; reached += width) {
            width *= TreeLinks.MAX_CHILDREN;
            levels++;
        }
        int children = Math.min(ranks - 1, TreeLinks.MAX_CHILDREN);
        return 2 * levels * (HOST_TREE_HOP_US + children * HOST_TREE_CHILD_US) + REDUCING_NETWORK_BY_TREE_US;
    }

    static double networkStepMicros(boolean amdProcessors, Protocol protocol) {
        return NETWORK_STEP_US[amdProcessors ? 1 : 0] * (protocol == Protocol.SIMPLE ? SIMPLE_NETWORK_STEPS : 1);
    }

    /** The most that all channels together carry with LL. */
    static double llGBps(Generation generation, int hosts, boolean amdProcessors) {
        if (hosts == 1) {
            return LL_LOCAL_GBPS[generation.ordinal()];
        }
        int column = hosts == 2 ? 0 : 1;
        return amdProcessors ? LL_AMD_GBPS[generation.ordinal()][column] : LL_INTEL_GBPS[column];
    }

    /** The most that one channel of a ring carries with LL128. */
    static double ringLl128GBps(Generation generation) {
        return RING_LL128_GBPS[generation.ordinal()];
    }

    /** The most that one channel of a tree carries with LL128. */
    static double treeLl128GBps(Generation generation, int hosts) {
        return TREE_LL128_GBPS[generation.ordinal()][scale(hosts)];
    }

    /** The most that one channel of a tree carries. */
    static double treeGBps(Generation generation, int hosts) {
        return TREE_GBPS[generation.ordinal()][scale(hosts)];
    }

    private static int scale(int hosts) {
        return Math.min(hosts, 3) - 1;
    }

    /** The part of a tree's bandwidth that an all-reduce of this size reaches; between the sizes of the table, in line. */
    static double treeFilling(Protocol protocol, long bytes) {
        double[] table = TREE_FILLING[protocol.ordinal()];
        double octave = Math.log(Math.max(1, bytes / SMALLEST_FILLING_BYTES)) / Math.log(2);
        int below = (int) Math.min(octave, table.length - 1.0);
        int above = Math.min(below + 1, table.length - 1);
        return table[below] + (table[above] - table[below]) * Math.min(1, octave - below);
    }

    /** How much longer hops of a SIMPLE ring over hosts take when a shard has this size. */
    static double ringPlateau(int capability, long shardBytes) {
        if (shardBytes < PLATEAU_SHARD_BYTES) {
            return 1;
        }
        return RING_PLATEAU[capability < PLATEAU_CAPABILITY ? 0 : 1];
    }

    /** Threads of a channel. */
    static int threads(Protocol protocol, double ringGBps) {
        return protocol == Protocol.SIMPLE && ringGBps <= SLOW_GBPS ? SLOW_SIMPLE_THREADS : THREADS[protocol.ordinal()];
    }
}
