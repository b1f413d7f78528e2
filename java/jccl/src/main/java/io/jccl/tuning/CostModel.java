package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.HostCosts.General;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Predicts operations between host ranks from measured costs.
 *
 * <pre>
 * time = operation + further channels
 *      + hops x hop time                     the longest path of a byte
 *      + steps x step time                   handling of steps by the busiest rank
 *      + bytes x time per byte / parallel    what the busiest rank forwards, shared by channels that have a core each;
 *                                            the time per byte depends on the operation's size
 * </pre>
 *
 * <p>Ranks that outnumber cores are time-sliced: a hop waits until all ranks of a core have run, and a rank handles as
 * many steps in a time slice as there are slots. Bytes cost more by the ratio of ranks to cores, and still more where
 * every rank sends everything to all others, because fewer caches have to hold all those chunks; less where one rank sends
 * all. Between hosts the slower of the local and the network hop counts.
 */
public final class CostModel implements TimeModel {

    private static final int SMALLEST_CHUNK = 1024;
    private static final int LINE = 64;
    /** From 64 and 256 bytes by LL128 and SIMPLE between two ranks. */
    private static final double HOP_OF_ONE_AHEAD = 0.4;
    /** The native library's limit: kMaxFanout peers of a rank. */
    private static final int MAX_DIRECT_RANKS = 64;

    private final HostCosts costs;
    private final CommunicatorShape shape;
    private final Optional<CollNetTraits> collNet;

    /** A model of one communicator. */
    public CostModel(HostCosts costs, CommunicatorShape shape) {
        this(costs, shape, Optional.empty());
    }

    /** @param collNet what the network between hosts does itself, if it does */
    public CostModel(HostCosts costs, CommunicatorShape shape, Optional<CollNetTraits> collNet) {
        this.costs = Objects.requireNonNull(costs, "costs");
        this.shape = Objects.requireNonNull(shape, "shape");
        this.collNet = Objects.requireNonNull(collNet, "collNet");
    }

    /** The communicator that is modelled. */
    public CommunicatorShape shape() {
        return shape;
    }

    @Override
    public String described() {
        return "ranks=" + shape.ranks() + " on hosts=" + shape.hosts();
    }

    /** Every protocol works wherever the algorithm does. */
    @Override
    public boolean exists(Collective collective, Algorithm algorithm, Protocol protocol) {
        return exists(collective, algorithm);
    }

    /** Whether there is a schedule for this combination in this communicator. */
    public boolean exists(Collective collective, Algorithm algorithm) {
        return switch (algorithm) {
            case RING -> !pairwise(collective);
            case TREE -> collective == Collective.ALL_REDUCE;
            case DIRECT -> pairwise(collective) || shape.ranks() <= MAX_DIRECT_RANKS;
            case COLLNET_DIRECT -> collNet.isPresent()
                    && collNetDoes(collective)
                    && shape.localRanks() <= MAX_DIRECT_RANKS;
            case COLLNET_CHAIN -> collNet.isPresent() && collective == Collective.ALL_REDUCE;
            case NVLS -> false;
        };
    }

    private boolean collNetDoes(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE -> true;
            case ALL_GATHER, REDUCE_SCATTER -> collNet.isPresent()
                    && collNet.get().gathers();
            default -> false;
        };
    }

    static boolean isCollNet(Algorithm algorithm) {
        return algorithm == Algorithm.COLLNET_DIRECT || algorithm == Algorithm.COLLNET_CHAIN;
    }

    /** Whether every rank exchanges its own data with each other: such operations need no ring and span hosts. */
    private static boolean pairwise(Collective collective) {
        return switch (collective) {
            case ALL_TO_ALL, GATHER, SCATTER, SEND_RECV -> true;
            default -> false;
        };
    }

    /** Predicted time of an operation with these parameters, in microseconds. */
    public double micros(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, int channels, int chunkBytes) {
        if (shape.ranks() == 1) {
            return costs.get(General.OPERATION_US) + bytes * copyNanosPerByte(bytes) / 1000;
        }
        OperationCost cost = OperationCost.of(collective, algorithm, shape, bytes, channels, chunkBytes);
        Algorithm measured = isCollNet(algorithm) ? Algorithm.DIRECT : algorithm;
        LinkCost local = costs.link(shape.localTransport(), measured, protocol);
        LinkCost net = costs.link(TransportKind.SOCKET, measured, protocol);
        double localHop = local.hopMicros() * (runsAhead(collective, algorithm) ? HOP_OF_ONE_AHEAD : 1);
        double netHop = net.hopMicros();
        double timeSlice = timeSliceMicros();
        double nanosPerByte = local.nanosPerByte(bytes) * oversubscription(collective, algorithm, bytes);
        double inNetworkNanos = 0;
        if (isCollNet(algorithm)) {
            inNetworkNanos = collNetNanos(protocol, bytes, channels);
            // Whatever protocol the links inside hosts have.
            netHop = costs.link(TransportKind.SOCKET, measured, Protocol.SIMPLE).hopMicros()
                    + collNet.orElseThrow().latencyMicros() / cost.netHops();
        } else if (!shape.oneHost()) {
            double wire = (protocol == Protocol.LL ? 2 : 1) / shape.netGBps();
            nanosPerByte = Math.max(nanosPerByte, Math.max(net.nanosPerByte(bytes), wire));
        }
        return costs.get(General.OPERATION_US)
                + (channels - 1) * costs.get(General.CHANNEL_US)
                + cost.localHops() * (localHop + timeSlice)
                + cost.netHops() * netHop
                + cost.steps() * (costs.get(General.STEP_US) + timeSlice / OperationCost.SLOTS)
                + Math.max(inNetworkNanos, cost.bytes() * nanosPerByte / parallel(channels)) / 1000;
    }

    /** With a core of its own, who sends one way is ahead of who receives, and the hops of operations overlap. */
    private boolean runsAhead(Collective collective, Algorithm algorithm) {
        return isRootedDirect(collective, algorithm) && !oversubscribed();
    }

    /** Whether one rank sends to all others, or gets from them, without others between. */
    private static boolean isRootedDirect(Collective collective, Algorithm algorithm) {
        return algorithm == Algorithm.DIRECT && OperationCost.isRooted(collective);
    }

    /** What the network does overlaps with what leaders do for their hosts; it has every byte once. */
    private double collNetNanos(Protocol protocol, long bytes, int channels) {
        CollNetTraits traits = collNet.orElseThrow();
        double perByte = traits.gigabytes() > 0
                ? traits.groups() / traits.gigabytes()
                : Math.max(
                        1 / shape.netGBps(),
                        costs.link(TransportKind.SOCKET, Algorithm.DIRECT, protocol)
                                .nanosPerByte(bytes));
        return (double) bytes / channels * perByte;
    }

    @Override
    public double micros(Collective collective, Choice choice, long bytes) {
        return micros(collective, choice.algorithm(), choice.protocol(), bytes, choice.channels(), choice.chunkBytes());
    }

    /** The largest step worth making: what keeps the slots in the cache, and what a slot holds. */
    int largestChunk(Protocol protocol) {
        General largest = oversubscribed()
                ? General.OVERSUBSCRIBED_CHUNK_BYTES
                : shape.oneHost() ? General.CHUNK_BYTES : General.NET_CHUNK_BYTES;
        return wholeLines(Math.min(shape.slots().of(protocol), costs.bytes(largest)));
    }

    /** Steps are a multiple of a cache line, so that every type fits and chunks stay aligned. */
    private static int wholeLines(int bytes) {
        return Math.max(LINE, bytes / LINE * LINE);
    }

    /** The step size that this operation is fastest with: halved from the largest while that helps. */
    int bestChunk(Collective collective, Algorithm algorithm, Protocol protocol, long bytes, int channels) {
        int best = largestChunk(protocol);
        double bestMicros = micros(collective, algorithm, protocol, bytes, channels, best);
        for (int chunk = wholeLines(best / 2); chunk >= SMALLEST_CHUNK; chunk = wholeLines(chunk / 2)) {
            double micros = micros(collective, algorithm, protocol, bytes, channels, chunk);
            if (micros < bestMicros) {
                best = chunk;
                bestMicros = micros;
            }
        }
        return best;
    }

    /**
     * Data beyond some size is not staged to all peers at once, unless a ring staged as much; and between two ranks a ring moves
     * what direct does, in an all-reduce alone in other parts.
     */
    @Override
    public boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        if (algorithm == Algorithm.RING && shape.ranks() == 2 && collective != Collective.ALL_REDUCE) {
            return !worthComparing(collective, Algorithm.DIRECT, bytes);
        }
        boolean zeroCopySend = collective == Collective.ALL_REDUCE && shape.ranks() == 2 && !shape.sharesMemory();
        General limit = zeroCopySend
                ? General.ZERO_COPY_SEND_DIRECT_MAX_BYTES
                : oversubscribed() && !OperationCost.isRooted(collective)
                        ? General.OVERSUBSCRIBED_DIRECT_MAX_BYTES
                        : General.DIRECT_MAX_BYTES;
        return algorithm != Algorithm.DIRECT || pairwise(collective) || bytes <= costs.get(limit) * sharers(collective);
    }

    /** How many ranks stage together what each stages for every other in an all-reduce. */
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
        for (int channels : channelCounts(algorithm, overrides)) {
            int chunk = forced > 0
                    ? Math.min(forced, shape.slots().of(protocol))
                    : bestChunk(collective, algorithm, protocol, bytes, channels);
            boolean twoShot = OperationCost.isTwoShot(collective, algorithm, shape, bytes);
            boolean byHosts = OperationCost.isByHosts(collective, algorithm, shape, bytes);
            candidates.add(new Choice(algorithm, protocol, channels, chunk, zeroCopy, twoShot, byHosts));
        }
        return candidates;
    }

    /** Powers of two within the bounds, and the bounds. */
    private List<Integer> channelCounts(Algorithm algorithm, TuningOverrides overrides) {
        int existing = isCollNet(algorithm)
                ? Math.min(shape.channels(), collNet.orElseThrow().groups())
                : shape.channels();
        int max = overrides.maxChannels(existing);
        List<Integer> counts = new ArrayList<>();
        int count = overrides.minChannels(existing);
        for (; count < max; count = Math.max(count + 1, Integer.highestOneBit(count) * 2)) {
            counts.add(count);
        }
        counts.add(max);
        return counts;
    }

    /** In place means the direct algorithm in bulk: it is tried unless the settings forbid either. */
    private boolean zeroCopy(Collective collective, long bytes, TuningOverrides overrides) {
        return worthZeroCopy(collective, bytes)
                && overrides.algorithms().allows(collective, Algorithm.DIRECT)
                && overrides.protocols().allows(collective, Protocol.SIMPLE);
    }

    /**
     * Whether buffers that all peers can address should be used in place. There all ranks wait for all others, twice; through
     * slots a collective with a root has one hop.
     */
    private boolean worthZeroCopy(Collective collective, long bytes) {
        double minBytes = costs.get(General.ZERO_COPY_MIN_BYTES);
        return shape.sharesMemory()
                && shape.ranks() > 1
                && switch (collective) {
                    case SEND_RECV, BARRIER -> false;
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
     * How many times longer a byte of the busiest rank takes than in an all-reduce with a core for each rank. Ranks that all
     * forward share their cores. Where all send all they have to all others, caches are too small besides. Where one rank sends,
     * or receives, all, the others do the other half of the work, meanwhile or, on few cores, one after the other.
     */
    private double oversubscription(Collective collective, Algorithm algorithm, long bytes) {
        if (isRootedDirect(collective, algorithm)) {
            return Math.max(0.5, 1.0 / shape.cores());
        }
        if (!oversubscribed() || algorithm != Algorithm.DIRECT) {
            return shape.ranksPerCore();
        }
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER -> shape.ranksPerCore();
            default -> shape.ranksPerCore()
                    * (OperationCost.isTwoShot(collective, algorithm, shape, bytes)
                            ? 1
                            : costs.get(General.OVERSUBSCRIBED_DIRECT_FACTOR));
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
