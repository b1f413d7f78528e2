package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.topology.PathType;

/**
 * The constants of the cost model for GPUs, one table per fact, in microseconds and GB/s, with protocols in the order
 * LL, LL128, SIMPLE. Unless a table names another source, they are the values that NVIDIA measured and published with
 * NCCL up to 2.30: the constants of its tuner, which tuner plug-ins may read and change.
 */
final class GraphCosts {

    /** Bytes in a microsecond at 1 GB/s. */
    static final double BYTES_PER_MICRO = 1000;

    private GraphCosts() {}

    /** The kind of links that a hop uses. */
    enum Medium {
        NVLINK,
        PCI,
        NET;

        /** Returns the medium between neighbours on one host. NVLink to a processor counts as NVLink. */
        static Medium within(PathType type) {
            if (type.compareTo(PathType.C2C) <= 0) {
                return NVLINK;
            }
            return type.compareTo(PathType.NET) < 0 ? PCI : NET;
        }
    }

    /** Generations of GPUs, which differ in the bandwidth of a channel. */
    enum Generation {
        VOLTA,
        AMPERE,
        HOPPER,
        BLACKWELL;

        private static final int[] FIRST_CAPABILITY = {0, 80, 90, 100};

        /** Returns the generation of a compute capability times ten; older and unknown ones count as Volta. */
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

    /** Launch and set-up time of an operation. */
    private static final double[] RING_BASE_US = {6.6, 14.0, 8.4};

    private static final double[] TREE_BASE_US = {6.8, 14.0, 8.4};

    /** Time of one hop in a ring, by medium. */
    private static final double[][] RING_HOP_US = {
        {0.6, 1.9, 3.4},
        {1.0, 2.5, 5.7},
        {2.7, 4.0, 14.0},
    };

    /** Time of one hop in a tree, by medium. Unlike in a ring, no simultaneous transfer hides it. */
    private static final double[][] TREE_HOP_US = {
        {0.6, 1.25, 4.0},
        {1.0, 1.9, 4.0},
        {5.0, 8.5, 14.0},
    };

    /**
     * CPU time of passing a step to the network: with processors of Intel and others, and of AMD. SIMPLE pays it three
     * times.
     */
    private static final double[] NETWORK_STEP_US = {1.0, 2.0};

    private static final int SIMPLE_NETWORK_STEPS = 3;

    /**
     * Time of each peer after the first from which a rank of a direct operation receives on its host: one more flag to
     * poll. An estimate, the time of a load from the second-level cache while other loads are in flight.
     */
    static final double FURTHER_PEER_US = 0.1;

    /** Bandwidth of LL on one host with all channels, by generation. */
    private static final double[] LL_LOCAL_GBPS = {39.0, 87.7, 141.0, 282.0};

    /**
     * Bandwidth of LL with processors of Intel and others, between 2 hosts and between more. The processors compare the
     * flags.
     */
    private static final double[] LL_INTEL_GBPS = {39.0, 20.4};

    /** Bandwidth of LL between 2 hosts and between more, with processors of AMD, by generation of the GPUs. */
    private static final double[][] LL_AMD_GBPS = {{39.0, 20.4}, {22.5, 19.0}, {45.0, 35.0}, {90.0, 70.0}};

    /** Bandwidth of one channel of a ring with LL128, by generation; equal for any number of hosts. */
    private static final double[] RING_LL128_GBPS = {20.0, 20.0, 36.7, 40.0};

    /** Bandwidth of one channel of a tree with LL128, by generation, on 1, 2 and more hosts. */
    private static final double[][] TREE_LL128_GBPS = {
        {20.0, 20.0, 20.0},
        {20.0, 20.0, 20.0},
        {36.7, 36.7, 29.0},
        {55.6, 31.67, 20.0},
    };

    /** Largest bandwidth of one channel of a tree with any protocol, by generation, on 1, 2 and more hosts. */
    private static final double[][] TREE_GBPS = {
        {26.5, 18.5, 10.0},
        {24.0, 23.6, 17.8},
        {38.7, 41.4, 36.0},
        {70.0, 42.8, 24.0},
    };

    /**
     * Share of a tree's bandwidth that is reached at sizes that do not keep its pipeline full, by protocol, for 64 B,
     * 128 B, … 256 MiB.
     */
    private static final double[][] TREE_FILLING = {
        {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
        {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
        {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
    };

    private static final double SMALLEST_FILLING_BYTES = 64;

    /**
     * Factor by which the hops of a SIMPLE ring over several hosts take longer if a shard has 64 bytes or more: below
     * compute capability 8.0, and from 8.0 on.
     */
    private static final double[] RING_PLATEAU = {1.9, 1.4};

    private static final int PLATEAU_CAPABILITY = 80;
    private static final int PLATEAU_SHARD_BYTES = 64;

    /** Threads of a channel, by protocol. SIMPLE needs half of them if rings are no faster than PCI of generation 3. */
    private static final int[] THREADS = {512, 640, 512};

    private static final int SLOW_SIMPLE_THREADS = 256;
    private static final double SLOW_GBPS = 12.0;

    static double baseMicros(Algorithm algorithm, Protocol protocol) {
        return (algorithm == Algorithm.TREE ? TREE_BASE_US : RING_BASE_US)[protocol.ordinal()];
    }

    static double hopMicros(Medium medium, Algorithm algorithm, Protocol protocol) {
        return (algorithm == Algorithm.TREE ? TREE_HOP_US : RING_HOP_US)[medium.ordinal()][protocol.ordinal()];
    }

    static double networkStepMicros(boolean amdProcessors, Protocol protocol) {
        return NETWORK_STEP_US[amdProcessors ? 1 : 0] * (protocol == Protocol.SIMPLE ? SIMPLE_NETWORK_STEPS : 1);
    }

    /** Returns the largest bandwidth of all channels together with LL. */
    static double llGBps(Generation generation, int hosts, boolean amdProcessors) {
        if (hosts == 1) {
            return LL_LOCAL_GBPS[generation.ordinal()];
        }
        int column = hosts == 2 ? 0 : 1;
        return amdProcessors ? LL_AMD_GBPS[generation.ordinal()][column] : LL_INTEL_GBPS[column];
    }

    /** Returns the largest bandwidth of one channel of a ring with LL128. */
    static double ringLl128GBps(Generation generation) {
        return RING_LL128_GBPS[generation.ordinal()];
    }

    /** Returns the largest bandwidth of one channel of a tree with LL128. */
    static double treeLl128GBps(Generation generation, int hosts) {
        return TREE_LL128_GBPS[generation.ordinal()][scale(hosts)];
    }

    /** Returns the largest bandwidth of one channel of a tree. */
    static double treeGBps(Generation generation, int hosts) {
        return TREE_GBPS[generation.ordinal()][scale(hosts)];
    }

    private static int scale(int hosts) {
        return Math.min(hosts, 3) - 1;
    }

    /**
     * Returns the share of a tree's bandwidth that an all-reduce of this size reaches; interpolates linearly between
     * the sizes of the table.
     */
    static double treeFilling(Protocol protocol, long bytes) {
        double[] table = TREE_FILLING[protocol.ordinal()];
        double octave = Math.log(Math.max(1, bytes / SMALLEST_FILLING_BYTES)) / Math.log(2);
        int below = (int) Math.min(octave, table.length - 1.0);
        int above = Math.min(below + 1, table.length - 1);
        return table[below] + (table[above] - table[below]) * Math.min(1, octave - below);
    }

    /** Returns the factor by which hops of a SIMPLE ring over hosts take longer if a shard has this size. */
    static double ringPlateau(int capability, long shardBytes) {
        if (shardBytes < PLATEAU_SHARD_BYTES) {
            return 1;
        }
        return RING_PLATEAU[capability < PLATEAU_CAPABILITY ? 0 : 1];
    }

    /** Returns the number of threads of a channel. */
    static int threads(Protocol protocol, double ringGBps) {
        return protocol == Protocol.SIMPLE && ringGBps <= SLOW_GBPS ? SLOW_SIMPLE_THREADS : THREADS[protocol.ordinal()];
    }
}
