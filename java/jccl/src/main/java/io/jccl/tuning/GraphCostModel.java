package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.search.GraphSummary;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Predicts operations between GPUs from the channels that were found.
 *
 * <pre>
 * time = base + hops x hop time + bytes / bandwidth
 * </pre>
 *
 * <p>The constants were measured with all channels for large sizes and with fewer for small ones. An operation
 * therefore gets as many channels as its size keeps busy. If a setting asks for fewer, they carry proportionally less.
 */
public final class GraphCostModel implements TimeModel {

    private static final int LINE = 64;
    private static final int KIB = 1024;

    /**
     * Pairs of a size in bytes and a factor. A tree's SIMPLE chunk is halved while it is larger than the size and a
     * channel has fewer chunks than the factor times the tree's depth, so that the pipeline stays full. Source: the
     * articles on NCCL's double binary trees.
     */
    private static final int[][] TREE_CHUNK_RULES = {{128 * KIB, 8}, {64 * KIB, 4}, {32 * KIB, 1}};

    private final GpuShape shape;
    private final Ll128 ll128;
    private final int threads;
    private final int minChannels;
    private final ThreadThresholds thresholds;
    private final GraphLatency latency;
    private final GraphBandwidth bandwidth;
    private final Map<Algorithm, AddedGpuAlgorithm> added = new EnumMap<>(Algorithm.class);

    /**
     * Makes a model of one communicator.
     *
     * @param overrides the settings, of which only those for GPUs are used
     */
    public GraphCostModel(GpuShape shape, TuningOverrides overrides) {
        this(shape, overrides, List.of());
    }

    /** @param added the algorithms of the communicator in addition to the ring, tree and direct ones */
    public GraphCostModel(GpuShape shape, TuningOverrides overrides, List<AddedGpuAlgorithm> added) {
        this.shape = Objects.requireNonNull(shape, "shape");
        this.ll128 = overrides.ll128();
        this.threads = overrides.threads();
        this.minChannels = overrides.minChannels(shape.channels());
        this.thresholds = overrides.thresholds();
        this.latency = new GraphLatency(shape);
        this.bandwidth = new GraphBandwidth(shape);
        added.forEach(one -> this.added.put(one.algorithm(), one));
    }

    @Override
    public String described() {
        String text = "GPU ranks=" + shape.ranks() + " on hosts=" + shape.hosts();
        if (ll128 == Ll128.OFF) {
            return text + " and JCCL_LL128=off";
        }
        Optional<String> danger = Ll128Rule.danger(shape, shape.ring());
        return ll128 == Ll128.FORCE || danger.isEmpty()
                ? text
                : text + " (no ll128: " + danger.get() + "; JCCL_LL128=force uses it all the same)";
    }

    @Override
    public List<String> notes() {
        if (ll128 != Ll128.FORCE) {
            return List.of();
        }
        return Ll128Rule.danger(shape, shape.ring())
                .or(() -> Ll128Rule.danger(shape, shape.tree()))
                .map(danger -> List.of("JCCL_LL128=force: ll128 may be used although " + danger
                        + ", which would falsify results without a message"))
                .orElse(List.of());
    }

    @Override
    public boolean exists(Collective collective, Algorithm algorithm, Protocol protocol) {
        return switch (algorithm) {
            case RING -> !OperationCost.isPairwise(collective) && fits(protocol, shape.ring());
            case TREE -> GraphLatency.twoPhases(collective) && shape.ranks() > 1 && fits(protocol, shape.tree());
            case DIRECT -> OperationCost.isPairwise(collective) ? protocol != Protocol.LL128 : oneHop(protocol);
            default -> added.containsKey(algorithm) && added.get(algorithm).exists(collective, protocol, shape);
        };
    }

    /**
     * Returns true if each rank can send its data to all others at once. Only LL does this faster than a ring: its
     * chunks need no answer. Pairs on different hosts are left to rings and trees, which need fewer messages.
     */
    private boolean oneHop(Protocol protocol) {
        return protocol == Protocol.LL
                && shape.oneHost()
                && shape.ranks() > 1
                && shape.ranks() <= DeviceConfig.DIRECT_RANKS;
    }

    /** Settings that ask for more channels than direct operations have are followed by rings and trees. */
    @Override
    public boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return algorithm != Algorithm.DIRECT
                || OperationCost.isPairwise(collective)
                || minChannels <= existingChannels(collective, algorithm);
    }

    private boolean fits(Protocol protocol, GraphSummary graph) {
        return protocol != Protocol.LL128 || Ll128Rule.allows(ll128, shape, graph);
    }

    @Override
    public List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides) {
        int existing = existingChannels(collective, algorithm);
        int channels = Math.max(
                overrides.minChannels(existing),
                Math.min(overrides.maxChannels(existing), busyChannels(collective, algorithm, protocol, bytes)));
        int slot = shape.slots().of(protocol);
        int chunk = overrides.chunkBytes() > 0
                ? Math.min(overrides.chunkBytes(), slot)
                : wholeLines(chunk(algorithm, protocol, bytes, channels, slot));
        Choice choice = new Choice(algorithm, protocol, channels, chunk, false);
        boolean shots = algorithm == Algorithm.DIRECT && collective == Collective.ALL_REDUCE && shape.ranks() > 2;
        return shots
                ? List.of(choice, new Choice(algorithm, protocol, channels, chunk, false, true, false))
                : List.of(choice);
    }

    @Override
    public double micros(Collective collective, Choice choice, long bytes) {
        return latencyMicros(collective, choice, bytes) + transferMicros(collective, choice, bytes);
    }

    /** Returns the time in which the first byte travels. */
    double latencyMicros(Collective collective, Choice choice, long bytes) {
        AddedGpuAlgorithm other = added.get(choice.algorithm());
        return other == null
                ? latency.micros(collective, choice.algorithm(), choice.protocol(), choice.twoShot(), bytes)
                : other.latencyMicros(shape);
    }

    /** Returns the time of the bytes. */
    double transferMicros(Collective collective, Choice choice, long bytes) {
        AddedGpuAlgorithm other = added.get(choice.algorithm());
        double gbps = other == null ? bandwidth.gbps(collective, choice, bytes) : other.gbps(collective, shape);
        int busy = busyChannels(collective, choice.algorithm(), choice.protocol(), bytes);
        double part = Math.min(1, choice.channels() / (double) busy);
        return bytes / (gbps * part * GraphCosts.BYTES_PER_MICRO);
    }

    /** {@inheritDoc} Knows only the links of rings and trees. */
    @Override
    public double linkMicros(Collective collective, Choice choice, long bytes) {
        return choice.algorithm() == Algorithm.RING || choice.algorithm() == Algorithm.TREE
                ? bandwidth.linkMicros(collective, choice.algorithm(), choice.channels(), bytes)
                : 0;
    }

    /** Returns the number of channels that have enough bytes for each of their threads. */
    private int busyChannels(Collective collective, Algorithm algorithm, Protocol protocol, long bytes) {
        long perChannel = bytesPerChannel(algorithm, protocol);
        int existing = existingChannels(collective, algorithm);
        return perChannel == 0 ? existing : (int) Math.max(1, Math.min(existing, bytes / perChannel));
    }

    /** Returns the bytes that each channel must have before another is used. */
    long bytesPerChannel(Algorithm algorithm, Protocol protocol) {
        int each = threads > 0 ? threads : GraphCosts.threads(protocol, bandwidth.ringGBps());
        return each * thresholds.of(algorithm, protocol, shape.ranks());
    }

    /** Returns the number of channels that an algorithm can use. */
    private int existingChannels(Collective collective, Algorithm algorithm) {
        if (algorithm == Algorithm.DIRECT && !OperationCost.isPairwise(collective)) {
            return Math.min(shape.channels(), DeviceConfig.DIRECT_CHANNELS);
        }
        return added.containsKey(algorithm) ? added.get(algorithm).channels(shape) : shape.channels();
    }

    private int chunk(Algorithm algorithm, Protocol protocol, long bytes, int channels, int slot) {
        int chunk = slot;
        if (algorithm == Algorithm.TREE && protocol == Protocol.SIMPLE) {
            for (int[] rule : TREE_CHUNK_RULES) {
                while (chunk > rule[0] && bytes / ((long) channels * chunk) < (long) shape.treeDepth() * rule[1]) {
                    chunk /= 2;
                }
            }
        }
        return chunk;
    }

    /** Rounds down to a multiple of a cache line, so that every type fits and chunks stay aligned. */
    private static int wholeLines(int bytes) {
        return Math.max(LINE, bytes / LINE * LINE);
    }
}
