package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.HostCosts.General;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Predicts operations between host ranks from measured costs.
 *
 * <pre>
 * time = operation + further channels
 *      + turns x hops x hop time             the longest path of a byte
 *      + turns x steps x step time           handling of a channel's steps by the busiest rank
 *      + turns x bytes x time per byte       bytes of a channel that the busiest rank forwards; the time per byte
 *                                            depends on the size of the operation
 * </pre>
 *
 * <p>Ranks that outnumber cores are time-sliced: a hop waits until all ranks of a core have run, and in one time slice
 * a rank handles as many steps as there are slots. The time per byte grows with the ratio of ranks to cores. In most
 * direct operations this time grows further, because the caches of a few cores must hold the chunks of all ranks. The
 * time per byte is lower in a direct broadcast or reduce, where one rank sends or receives everything. The slowest of
 * the local link, the network link and the network's bandwidth determines the time of the bytes that cross hosts; the
 * bandwidth counts for the bytes of all ranks of a host. Channels that have no core each take turns. The bytes of all
 * channels that cross hosts take turns, too.
 */
public final class CostModel implements TimeModel {

    private static final int SMALLEST_CHUNK = 1024;
    private static final int LINE = 64;
    /**
     * Factor by which the time of a hop is multiplied if senders run ahead of receivers. Measured between two ranks,
     * with LL128 at 64 and SIMPLE at 256 bytes.
     */
    private static final double HOP_OF_ONE_AHEAD = 0.4;
    /** Largest number of ranks of a direct collective: kMaxFanout, the native library's limit of a rank's peers. */
    public static final int MAX_DIRECT_RANKS = 64;

    private final HostCosts costs;
    private final CommunicatorShape shape;
    private final double wireShare; // bytes that cross hosts for each byte of the elements; 1 unless narrowed
    private final Map<Algorithm, AddedHostAlgorithm> added = new EnumMap<>(Algorithm.class);

    /** Makes a model of one communicator. */
    public CostModel(HostCosts costs, CommunicatorShape shape) {
        this(costs, shape, List.of());
    }

    /** @param added the algorithms of the communicator in addition to the ring, tree and direct ones */
    public CostModel(HostCosts costs, CommunicatorShape shape, List<AddedHostAlgorithm> added) {
        this(costs, shape, added, 1);
    }

    private CostModel(HostCosts costs, CommunicatorShape shape, List<AddedHostAlgorithm> added, double wireShare) {
        this.costs = Objects.requireNonNull(costs, "costs");
        this.shape = Objects.requireNonNull(shape, "shape");
        this.wireShare = wireShare;
        added.forEach(one -> this.added.put(one.algorithm(), one));
    }

    /** Returns the communicator that is modelled. */
    public CommunicatorShape shape() {
        return shape;
    }

    @Override
    public String described() {
        return "ranks=" + shape.ranks() + " on hosts=" + shape.hosts();
    }

    /** Narrowed operations have only SIMPLE, and no added algorithms, as in Engine::adjustChoice. */
    @Override
    public TimeModel narrowed(double share) {
        return shape.oneHost() ? this : new CostModel(costs, shape, List.of(), share);
    }

    private boolean narrows() {
        return wireShare < 1;
    }

    /** Every algorithm works with every protocol, unless the operation is narrowed. */
    @Override
    public boolean exists(Collective collective, Algorithm algorithm, Protocol protocol) {
        return exists(collective, algorithm) && (protocol == Protocol.SIMPLE || !narrows());
    }

    /** Returns true if this communicator can execute the collective with this algorithm. */
    public boolean exists(Collective collective, Algorithm algorithm) {
        return switch (algorithm) {
            case RING -> !OperationCost.isPairwise(collective);
            case TREE -> collective == Collective.ALL_REDUCE;
            case DIRECT -> OperationCost.isPairwise(collective) || shape.ranks() <= MAX_DIRECT_RANKS;
            default -> added.containsKey(algorithm) && added.get(algorithm).exists(collective, shape);
        };
    }

    @Override
    public double micros(Collective collective, Choice choice, long bytes) {
        Algorithm algorithm = choice.algorithm();
        Protocol protocol = choice.protocol();
        int channels = choice.channels();
        if (shape.ranks() == 1) {
            return costs.get(General.OPERATION_US) + bytes * copyNanosPerByte(bytes) / 1000;
        }
        AddedHostAlgorithm other = added.get(algorithm);
        double share = (double) bytes / channels;
        OperationCost cost = other == null
                ? OperationCost.of(collective, choice, shape, bytes)
                : other.cost(collective, shape, share, choice.chunkBytes());
        Algorithm measured = other == null ? algorithm : Algorithm.DIRECT;
        LinkCost local = costs.link(shape.localTransport(), measured, protocol);
        LinkCost net = costs.link(TransportKind.SOCKET, measured, protocol);
        double localHop = local.hopMicros() * (runsAhead(collective, algorithm) ? HOP_OF_ONE_AHEAD : 1);
        double netHop = net.hopMicros();
        double timeSlice = timeSliceMicros();
        double turns = channels / parallel(channels); // number of channels that share a core of this rank
        double localNanosPerByte = local.nanosPerByte(bytes) * oversubscription(collective, choice) * turns;
        double nanos = cost.bytes() * localNanosPerByte;
        if (other != null) {
            double slowest = Math.max(1 / shape.netGBps(), net.nanosPerByte(bytes));
            nanos = Math.max(nanos, other.networkNanos(share, slowest));
            // The network hop uses SIMPLE, whatever protocol the links inside hosts use.
            netHop = costs.link(TransportKind.SOCKET, measured, Protocol.SIMPLE).hopMicros()
                    + other.latencyMicros() / cost.netHops();
        } else if (!shape.oneHost()) {
            double wire = (protocol == Protocol.LL ? 2 : 1) / shape.netGBps();
            // One thread at a time moves a rank's data over the network, so further channels do not speed it up.
            // Narrowing and widening read and write all bytes, as a hop within a host does.
            double netNanosPerByte = Math.max(localNanosPerByte, channels * wireShare * net.nanosPerByte(bytes));
            nanos = (cost.bytes() - cost.netBytes()) * localNanosPerByte
                    + Math.max(cost.netBytes() * netNanosPerByte, cost.linkBytes() * channels * wireShare * wire);
        }
        return costs.get(General.OPERATION_US)
                + (channels - 1) * costs.get(General.CHANNEL_US)
                + turns
                        * (cost.localHops() * (localHop + timeSlice)
                                + cost.netHops() * netHop
                                + cost.steps() * (costs.get(General.STEP_US) + timeSlice / OperationCost.SLOTS))
                + nanos / 1000;
    }

    /**
     * Returns true if the senders of a one-way operation run ahead of the receivers, so that the hops of successive
     * operations overlap. That requires a core for each rank.
     */
    private boolean runsAhead(Collective collective, Algorithm algorithm) {
        return isRootedDirect(collective, algorithm) && !oversubscribed();
    }

    /** Returns true for a direct broadcast or reduce: one rank sends to all others, or receives from all others. */
    private static boolean isRootedDirect(Collective collective, Algorithm algorithm) {
        return algorithm == Algorithm.DIRECT && OperationCost.isRooted(collective);
    }

    /** Returns the largest useful step in bytes: it fits into a slot, and the slots in use stay in the cache. */
    int largestChunk(Protocol protocol) {
        General largest = oversubscribed()
                ? General.OVERSUBSCRIBED_CHUNK_BYTES
                : shape.oneHost() ? General.CHUNK_BYTES : General.NET_CHUNK_BYTES;
        return wholeLines(Math.min(shape.slots().of(protocol), costs.bytes(largest)));
    }

    /** Rounds down to a multiple of a cache line, so that every type fits and chunks stay aligned. */
    private static int wholeLines(int bytes) {
        return Math.max(LINE, bytes / LINE * LINE);
    }

    /**
     * Returns the choice with the step size that has the lowest predicted time. Starts with the largest size and halves
     * it.
     */
    Choice withBestChunk(Collective collective, Choice choice, long bytes) {
        Choice best = choice.inChunksOf(largestChunk(choice.protocol()));
        double bestMicros = micros(collective, best, bytes);
        for (int chunk = wholeLines(best.chunkBytes() / 2); chunk >= SMALLEST_CHUNK; chunk = wholeLines(chunk / 2)) {
            Choice smaller = choice.inChunksOf(chunk);
            double micros = micros(collective, smaller, bytes);
            if (micros < bestMicros) {
                best = smaller;
                bestMicros = micros;
            }
        }
        return best;
    }

    /**
     * Returns false for the direct algorithm above a size limit, because it would stage too much data to all peers at
     * once. The limit is lower if ranks outnumber cores, except for a broadcast or reduce, for which a ring stages as
     * much. Exchanges in pairs have no limit. Between two ranks, returns false for the ring at each size at which the
     * direct algorithm may be used, except for an all-reduce: in all other collectives, both algorithms move the same
     * data in the same parts.
     */
    @Override
    public boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        if (algorithm == Algorithm.RING && shape.ranks() == 2 && collective != Collective.ALL_REDUCE) {
            return !worthComparing(collective, Algorithm.DIRECT, bytes);
        }
        boolean zeroCopySend =
                collective == Collective.ALL_REDUCE && shape.ranks() == 2 && !shape.sharesMemory() && !narrows();
        General limit = zeroCopySend
                ? General.ZERO_COPY_SEND_DIRECT_MAX_BYTES
                : oversubscribed() && !OperationCost.isRooted(collective)
                        ? General.OVERSUBSCRIBED_DIRECT_MAX_BYTES
                        : General.DIRECT_MAX_BYTES;
        return algorithm != Algorithm.DIRECT
                || OperationCost.isPairwise(collective)
                || bytes <= costs.get(limit) * sharers(collective);
    }

    /**
     * Returns the factor by which the size limit of the direct algorithm is higher than for an all-reduce. In an
     * all-gather or a reduce-scatter, all ranks together stage as much as each rank does in an all-reduce.
     */
    private int sharers(Collective collective) {
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER -> oversubscribed() ? shape.ranks() : 1;
            default -> 1;
        };
    }

    @Override
    public List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides) {
        boolean zeroCopy = zeroCopy(collective, bytes, overrides);
        int forced = overrides.chunkBytes();
        List<Choice> candidates = new ArrayList<>();
        List<DirectForm> forms = algorithm == Algorithm.DIRECT
                ? DirectForm.worthComparing(collective, shape, bytes)
                : List.of(DirectForm.ONE_SHOT);
        for (int channels : channelCounts(algorithm, overrides)) {
            for (DirectForm form : forms) {
                Choice choice = new Choice(
                        algorithm,
                        protocol,
                        channels,
                        SMALLEST_CHUNK,
                        zeroCopy,
                        form.isTwoShot(),
                        form.isByHosts(),
                        false,
                        form.isInRounds());
                candidates.add(
                        forced > 0
                                ? choice.inChunksOf(
                                        Math.min(forced, shape.slots().of(protocol)))
                                : withBestChunk(collective, choice, bytes));
            }
        }
        return candidates;
    }

    /** Returns the numbers of channels to compare: powers of two within the bounds, and the bounds. */
    private List<Integer> channelCounts(Algorithm algorithm, TuningOverrides overrides) {
        int existing = added.containsKey(algorithm) ? added.get(algorithm).channels(shape) : shape.channels();
        int max = overrides.maxChannels(existing);
        List<Integer> counts = new ArrayList<>();
        int count = overrides.minChannels(existing);
        for (; count < max; count = Math.max(count + 1, Integer.highestOneBit(count) * 2)) {
            counts.add(count);
        }
        counts.add(max);
        return counts;
    }

    /**
     * Returns true if zero copy should be tried. It is a form of the direct algorithm with SIMPLE, so the settings must
     * allow both.
     */
    private boolean zeroCopy(Collective collective, long bytes, TuningOverrides overrides) {
        return worthZeroCopy(collective, bytes)
                && overrides.algorithms().allows(collective, Algorithm.DIRECT)
                && overrides.protocols().allows(collective, Protocol.SIMPLE);
    }

    /**
     * Returns true if buffers that all peers can address should be used in place. An operation in place makes all ranks
     * wait for all others twice. Through slots, a collective with a root has only one hop, so the smallest size for use
     * in place is twice as large.
     */
    private boolean worthZeroCopy(Collective collective, long bytes) {
        double minBytes = costs.get(General.ZERO_COPY_MIN_BYTES);
        return shape.sharesMemory()
                && shape.ranks() > 1
                && switch (collective) {
                    case SEND_RECV, BARRIER, SCAN, EXSCAN -> false;
                    case BROADCAST, REDUCE, GATHER, SCATTER -> bytes >= 2 * minBytes;
                    default -> bytes >= minBytes;
                };
    }

    private boolean oversubscribed() {
        return shape.localRanks() > shape.cores();
    }

    private double timeSliceMicros() {
        return oversubscribed() ? costs.get(General.OVERSUBSCRIBED_HOP_US) * shape.ranksPerCore() : 0;
    }

    /**
     * Returns the factor by which a byte of the busiest rank takes longer than in an all-reduce with a core for each
     * rank. In a direct broadcast or reduce, the factor is 0.5: the root does half of the work, and the other ranks do
     * their half in parallel; on a single core, the factor is 1. In all other operations, ranks that outnumber the
     * cores share them. In a direct operation, the caches are then too small in addition, unless it is an all-gather, a
     * reduce-scatter or a two-shot all-reduce.
     */
    private double oversubscription(Collective collective, Choice choice) {
        Algorithm algorithm = choice.algorithm();
        if (isRootedDirect(collective, algorithm)) {
            return Math.max(0.5, 1.0 / shape.cores());
        }
        if (!oversubscribed() || algorithm != Algorithm.DIRECT) {
            return shape.ranksPerCore();
        }
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER -> shape.ranksPerCore();
            default -> shape.ranksPerCore() * (choice.twoShot() ? 1 : costs.get(General.OVERSUBSCRIBED_DIRECT_FACTOR));
        };
    }

    private double parallel(int channels) {
        double coresPerRank = Math.max(1.0, (double) shape.cores() / shape.localRanks());
        return Math.min(channels, coresPerRank);
    }

    private double copyNanosPerByte(long bytes) {
        return costs.link(TransportKind.P2P, Algorithm.DIRECT, Protocol.SIMPLE).nanosPerByte(bytes);
    }
}
