package io.jccl.search;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;

/**
 * What bounds a search.
 *
 * @param minChannels the fewest channels to find, as far as network devices allow so many
 * @param maxChannels the most
 * @param channelGBps the bandwidth that one channel can make use of: above it, channels are split; infinite for no limit
 * @param networks whether other hosts take part
 * @param crossNic whether a ring may leave by another network device than it comes in by
 * @param steps how many elementary steps the search of one pattern may take; what it needs for a first answer it takes
 *     in any case
 */
public record SearchOptions(
        int minChannels, int maxChannels, double channelGBps, boolean networks, CrossNic crossNic, long steps) {

    /** Whether a ring may leave a host by another network device than it comes in by. */
    public enum CrossNic {
        /** Never: all traffic of a rail stays on it. */
        NEVER,
        /** Only where that gives more bandwidth. */
        IF_BETTER,
        /** Wherever it gives no less bandwidth. */
        ALWAYS;

        /** What the settings say ({@code JCCL_CROSS_NIC}). */
        public static CrossNic of(Settings settings) {
            return switch (settings.get(AlgorithmSettings.CROSS_NIC)) {
                case 0 -> NEVER;
                case 1 -> ALWAYS;
                default -> IF_BETTER;
            };
        }
    }

    /** More channels than this never paid on the host: each needs a core of its own on every rank. */
    private static final int MAX_HOST_CHANNELS = 4;

    /** Two trees in opposite directions use both directions of every link. */
    private static final int MIN_GPU_CHANNELS = 2;

    /** Every channel occupies a multiprocessor of every GPU; NCCL's searches end at as many. */
    private static final int MAX_GPU_CHANNELS = 32;

    /** What one thread block moves, by compute capability: NCCL splits channels that are wider. */
    private static final double GPU_CHANNEL_GBPS = 25;

    private static final double HOPPER_CHANNEL_GBPS = 50;
    private static final int HOPPER = 90;

    /** Twice what any known host needs to come to what its paths allow; some 20 ms. */
    private static final long STEPS = 4_000_000;

    /** Ranks on the host share memory: beyond the first good order there is little to find, and they wait for it. */
    private static final long HOST_STEPS = 400_000;

    /** Refuses what makes no sense. */
    public SearchOptions {
        if (minChannels < 1 || maxChannels < minChannels) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 1 or more, and at least as many at most");
        }
        if (!(channelGBps > 0)) {
            throw new IllegalArgumentException("channelGBps=" + channelGBps + ": expected more than 0");
        }
        if (steps < 0) {
            throw new IllegalArgumentException("steps=" + steps + ": expected 0 or more");
        }
    }

    /** A search for so many channels, of any bandwidth. */
    public SearchOptions(int channels, boolean networks) {
        this(channels, channels, Double.POSITIVE_INFINITY, networks, CrossNic.IF_BETTER, STEPS);
    }

    /**
     * What suits the ranks of a host: GPUs or host processes.
     *
     * @param cores cores of the host; host ranks get no more channels than these
     */
    public static SearchOptions forHost(Topology topology, int cores, boolean networks) {
        return topology.indexesOf(NodeType.HOST).isEmpty()
                ? forGpus(topology, networks)
                : forHost(cores, topology.endpoints().size(), networks);
    }

    /** As many channels as it takes to use the links of GPUs. */
    public static SearchOptions forGpus(Topology topology, boolean networks) {
        boolean hopper = topology.nodes().stream()
                .filter(Node.Gpu.class::isInstance)
                .allMatch(node -> ((Node.Gpu) node).sm() >= HOPPER);
        return new SearchOptions(
                MIN_GPU_CHANNELS,
                MAX_GPU_CHANNELS,
                hopper ? HOPPER_CHANNEL_GBPS : GPU_CHANNEL_GBPS,
                networks,
                CrossNic.IF_BETTER,
                STEPS);
    }

    /**
     * The channels that host ranks can use: as many as a rank has cores.
     *
     * @param cores cores of this host
     * @param localRanks ranks on this host
     */
    public static SearchOptions forHost(int cores, int localRanks, boolean networks) {
        int coresPerRank = cores / Math.max(1, localRanks);
        return new SearchOptions(Math.max(1, Math.min(MAX_HOST_CHANNELS, coresPerRank)), networks)
                .withSteps(HOST_STEPS);
    }

    /** These options for exactly so many channels. */
    public SearchOptions withChannels(int channels) {
        return new SearchOptions(channels, channels, Double.POSITIVE_INFINITY, networks, crossNic, steps);
    }

    /** These options with another number of steps. */
    public SearchOptions withSteps(long other) {
        return new SearchOptions(minChannels, maxChannels, channelGBps, networks, crossNic, other);
    }

    /** These options with another rule about crossing. */
    public SearchOptions withCrossNic(CrossNic other) {
        return new SearchOptions(minChannels, maxChannels, channelGBps, networks, other, steps);
    }
}
