package io.jccl.search;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;

/**
 * Limits of a search.
 *
 * @param minChannels the smallest number of channels to find, unless the limits of network devices allow only fewer
 * @param maxChannels the largest number of channels
 * @param channelGBps the largest bandwidth that one channel can use: wider channels are split; infinite for no limit
 * @param networks whether other hosts take part
 * @param crossNic whether a ring may leave by another network device than the one by which it enters
 * @param steps the largest number of elementary steps for one pattern; the first result is found even if it needs more
 */
public record SearchOptions(
        int minChannels, int maxChannels, double channelGBps, boolean networks, CrossNic crossNic, long steps) {

    /** Whether a ring may leave a host by another network device than the one by which it enters. */
    public enum CrossNic {
        /** Never: all traffic of a rail stays on it. */
        NEVER,
        /** Only if that increases the bandwidth. */
        IF_BETTER,
        /** Always, unless that decreases the bandwidth. */
        ALWAYS;

        /** Returns the value of the setting {@code JCCL_CROSS_NIC}. */
        public static CrossNic of(Settings settings) {
            return switch (settings.get(AlgorithmSettings.CROSS_NIC)) {
                case 0 -> NEVER;
                case 1 -> ALWAYS;
                default -> IF_BETTER;
            };
        }
    }

    /**
     * Largest number of channels of ranks on host memory. More channels were never faster, because each needs its own
     * core on every rank.
     */
    private static final int MAX_HOST_CHANNELS = 4;

    /** Smallest number of channels of GPUs: two trees in opposite directions use both directions of every link. */
    private static final int MIN_GPU_CHANNELS = 2;

    /**
     * Largest number of channels of GPUs. Every channel occupies a multiprocessor of every GPU; NCCL's searches have
     * the same limit.
     */
    private static final int MAX_GPU_CHANNELS = 32;

    /** Bandwidth of one thread block in GB/s below compute capability 9.0. As in NCCL, wider channels are split. */
    private static final double GPU_CHANNEL_GBPS = 25;

    private static final double HOPPER_CHANNEL_GBPS = 50;
    private static final int HOPPER = 90;

    /** Twice the steps that any known host needs to reach the bandwidth that its paths allow; about 20 ms. */
    private static final long STEPS = 4_000_000;

    /**
     * Limit of steps for ranks on host memory. All ranks wait for the search, and they share memory, so the first good
     * order can hardly be improved.
     */
    private static final long HOST_STEPS = 400_000;

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

    /** Options for an exact number of channels of any bandwidth. */
    public SearchOptions(int channels, boolean networks) {
        this(channels, channels, Double.POSITIVE_INFINITY, networks, CrossNic.IF_BETTER, STEPS);
    }

    /**
     * Returns options for the ranks of a host: GPUs or processes that work on host memory.
     *
     * @param cores number of cores of the host; limits the channels of ranks on host memory
     */
    public static SearchOptions forHost(Topology topology, int cores, boolean networks) {
        return topology.indexesOf(NodeType.HOST).isEmpty()
                ? forGpus(topology, networks)
                : forHost(cores, topology.endpoints().size(), networks);
    }

    /** Returns options that let the search choose as many channels as the links of the GPUs need. */
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
     * Returns options for ranks on host memory, with as many channels as each rank has cores, but at least 1 and at
     * most 4.
     *
     * @param cores number of cores of this host
     * @param localRanks number of ranks on this host
     */
    public static SearchOptions forHost(int cores, int localRanks, boolean networks) {
        int coresPerRank = cores / Math.max(1, localRanks);
        return new SearchOptions(Math.max(1, Math.min(MAX_HOST_CHANNELS, coresPerRank)), networks)
                .withSteps(HOST_STEPS);
    }

    /** Returns these options for exactly {@code channels} channels. */
    public SearchOptions withChannels(int channels) {
        return new SearchOptions(channels, channels, Double.POSITIVE_INFINITY, networks, crossNic, steps);
    }

    /** Returns these options with another number of steps. */
    public SearchOptions withSteps(long other) {
        return new SearchOptions(minChannels, maxChannels, channelGBps, networks, crossNic, other);
    }

    /** Returns these options with another rule for crossing rails. */
    public SearchOptions withCrossNic(CrossNic other) {
        return new SearchOptions(minChannels, maxChannels, channelGBps, networks, other, steps);
    }
}
