package io.jccl.init;

import io.jccl.TransportException;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.MemoryProbe;
import io.jccl.nativelib.OfferedDescriptor;
import io.jccl.parts.InitContext;
import io.jccl.topology.HostRank;
import io.jccl.wire.RankList;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exchanges handles, so that the ranks of a host can map the memory of each other's GPUs. Other processes get file
 * descriptors of the driver. A rank whose descriptor any peer refuses starts again with CUDA IPC's legacy handle, and its
 * peers connect to it again. All ranks call each method together.
 */
final class DeviceHandleExchange {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceHandleExchange.class);

    private static final int MAX_INFO_BYTES = 1 << 17;
    private static final int MAX_REASON_CHARS = 1000;

    /** The result of connecting to a peer. */
    enum Outcome {
        REACHED,
        /** The plan keeps the GPUs apart, they are on different hosts, or the hardware offers no access. */
        NOT_REACHED,
        /** The driver or the system does not let this process map the memory of another process of the host. */
        NOT_MAPPED,
        /** A descriptor was refused; legacy handles may still work. */
        REFUSED,
        /** The GPUs do not read or write each other's memory as it is. */
        FALSIFIED
    }

    private final InitContext context;
    private final Settings settings;
    private final Peers peers;
    private final Map<Integer, String> apart;
    private final int rank;

    /** @param apart why the plan keeps the GPUs of ranks of this host and this rank's GPU apart, by rank */
    DeviceHandleExchange(InitContext context, Peers peers, Map<Integer, String> apart) {
        this.context = context;
        this.settings = context.settings();
        this.peers = peers;
        this.apart = apart;
        this.rank = context.rank();
    }

    /**
     * Tells which ranks reach the GPU memory of which peers.
     *
     * @param rank this rank
     * @param obstacles why this rank does not reach a peer, by peer
     * @param all for each rank, the outcome of its connection to each rank of its host, by peer; the same on all ranks
     */
    record Reach(int rank, Map<Integer, String> obstacles, List<Map<Integer, Outcome>> all) {

        /** Returns the reason why this rank does not reach a peer; empty if it does. */
        Optional<String> obstacle(int peer) {
            return reaches(rank, peer)
                    ? Optional.empty()
                    : Optional.of(obstacles.getOrDefault(peer, "this rank does not reach its memory"));
        }

        boolean reaches(int one, int peer) {
            return all.get(one).get(peer) == Outcome.REACHED; // null on another host
        }

        /** Returns true if two ranks reach each other's memory. */
        boolean together(int one, int other) {
            return reaches(one, other) && reaches(other, one);
        }

        boolean isWhole() {
            return isWholeInsideHosts() && all.get(rank).size() == all.size();
        }

        /** Returns true if all ranks of each host reach each other's memory. */
        boolean isWholeInsideHosts() {
            return all.stream().allMatch(row -> row.values().stream().allMatch(outcome -> outcome == Outcome.REACHED));
        }

        /** Returns the peers whose memory a rank cannot map, although the GPUs could use it. */
        List<Integer> notMapped(int one) {
            return all.get(one).entrySet().stream()
                    .filter(entry -> entry.getValue() == Outcome.NOT_MAPPED || entry.getValue() == Outcome.REFUSED)
                    .map(Map.Entry::getKey)
                    .toList();
        }
    }

    /** Returns true if this rank must offer its memory by a descriptor, to other processes of its host. */
    boolean needsDescriptors() {
        return hasOtherProcessesOnHost() && settings.get(TransportSettings.CUMEM_ENABLE) != 0;
    }

    /** Returns true if this rank must offer its memory by legacy handles, to other processes of its host. */
    boolean needsHandles() {
        return hasOtherProcessesOnHost() && settings.get(TransportSettings.CUMEM_ENABLE) == 0;
    }

    private boolean hasOtherProcessesOnHost() {
        return IntStream.range(0, context.size())
                .anyMatch(peer -> !sameProcess(peer) && keptApart(peer).isEmpty());
    }

    /** Returns why this rank's GPU and a peer's do not use each other's memory by the plan; empty if they may. */
    Optional<String> keptApart(int peer) {
        if (peer == rank) {
            return Optional.empty();
        }
        if (!peers.sameHost(peer, rank)) {
            return Optional.of("another host");
        }
        if (settings.get(TransportSettings.P2P_DISABLE)) {
            return Optional.of(settings.origin(TransportSettings.P2P_DISABLE).name() + " is set");
        }
        return Optional.ofNullable(apart.get(peer));
    }

    private boolean sameProcess(int peer) {
        return peers.get(peer).process().equals(peers.get(rank).process());
    }

    /** Makes the memory of this rank's connections, and connects to the memory of all peers that this rank reaches. */
    Reach connect(DeviceEngine engine) {
        List<OfferedDescriptor> offers = new ArrayList<>();
        try {
            List<byte[]> infos = context.allGather(introduction(engine, offers));
            Attempt attempt = connect(engine, peer -> true, infos, new TreeMap<>(), Map.of());
            Map<Integer, String> refused = attempt.refused();
            if (!refused.isEmpty()) {
                logRefusals(attempt);
                if (refused.containsKey(rank)) {
                    engine.renounceDescriptors(refused.get(rank));
                }
                List<byte[]> again =
                        context.allGather(refused.containsKey(rank) ? introduction(engine, offers) : new byte[0]);
                attempt = connect(
                        engine,
                        peer -> refused.containsKey(peer) || refused.containsKey(rank),
                        IntStream.range(0, again.size())
                                .mapToObj(peer -> (refused.containsKey(peer) ? again : infos).get(peer))
                                .toList(),
                        attempt.obstacles,
                        attempt.all.get(rank));
            }
            if (hasOtherProcessesOnHost()) {
                LOG.info("rank={}: its device memory for other processes: {}", rank, engine.handleExchange());
            }
            return probed(engine, new Reach(rank, attempt.obstacles, attempt.all));
        } finally {
            offers.forEach(OfferedDescriptor::close); // each peer has fetched the descriptors or given up
        }
    }

    private void logRefusals(Attempt attempt) {
        List<Integer> owners = attempt.all.get(rank).entrySet().stream()
                .filter(entry -> entry.getValue() == Outcome.REFUSED)
                .map(Map.Entry::getKey)
                .toList();
        if (!owners.isEmpty()) {
            LOG.info(
                    "rank={}: maps the device memory of ranks {} by CUDA IPC handles: {}",
                    rank,
                    RankList.text(owners),
                    attempt.reasons.get(rank));
        }
    }

    /**
     * Tests the memory of all pairs of ranks that reach each other. Returns what is left: a pair that reads or writes
     * other data than there is counts as unreached on both ranks.
     */
    private Reach probed(DeviceEngine engine, Reach reach) {
        boolean any = IntStream.range(0, context.size()).anyMatch(one -> reach.all.get(one).keySet().stream()
                .anyMatch(other -> other != one && reach.together(one, other)));
        if (!any) {
            return reach;
        }
        int[] here = reach.all.get(rank).keySet().stream()
                .mapToInt(Integer::intValue)
                .toArray();
        int[] partners = IntStream.of(here)
                .filter(peer -> peer != rank && reach.together(rank, peer))
                .toArray();
        byte[] failures = MemoryProbe.probe(
                engine, partners, context::barrier, () -> context.left().toNanos());
        WireWriter mine = new WireWriter();
        IntStream.of(here).forEach(peer -> mine.u8(failures[peer]));
        List<byte[]> sent = context.allGather(mine.toBytes());
        List<Map<Integer, Integer>> found = IntStream.range(0, sent.size())
                .mapToObj(one -> read(one, sent.get(one), in -> ofHost(one, in::u8)))
                .toList();
        List<Map<Integer, Outcome>> all = new ArrayList<>();
        for (int one = 0; one < sent.size(); one++) {
            Map<Integer, Outcome> row = new TreeMap<>(reach.all.get(one));
            for (int other : row.keySet()) {
                if ((found.get(one).get(other) | found.get(other).get(one)) != 0) {
                    row.put(other, Outcome.FALSIFIED);
                }
            }
            all.add(row);
        }
        Map<Integer, String> obstacles = new TreeMap<>(reach.obstacles);
        for (int peer : partners) {
            int theirs = found.get(peer).get(rank);
            if ((failures[peer] | theirs) != 0) {
                obstacles.put(peer, "the test of the GPUs' memory failed");
                if (rank < peer) {
                    warnOfFalsified(peer, failures[peer], theirs);
                }
            }
        }
        return new Reach(rank, obstacles, all);
    }

    private void warnOfFalsified(int peer, int mine, int theirs) {
        List<String> failed = new ArrayList<>();
        if ((mine & MemoryProbe.READS) != 0) {
            failed.add("reads by rank=" + rank);
        }
        if ((theirs & MemoryProbe.READS) != 0) {
            failed.add("reads by rank=" + peer);
        }
        if ((theirs & MemoryProbe.WRITES) != 0) {
            failed.add("writes by rank=" + rank);
        }
        if ((mine & MemoryProbe.WRITES) != 0) {
            failed.add("writes by rank=" + peer);
        }
        LOG.warn(
                "GPUs {} and {}: the driver grants peer access, but {} bring other data than was sent, so these GPUs"
                        + " exchange data through host memory; the likely cause is an IOMMU or PCI access control"
                        + " services (ACS), as in many virtual machines: compare nvidia-smi topo -p2p rw, disable ACS"
                        + " on the PCI bridges and the IOMMU, or set {}=1 to use no peer access",
                describe(rank),
                describe(peer),
                String.join(", ", failed),
                TransportSettings.P2P_DISABLE.name());
    }

    private String describe(int one) {
        PeerDevice device = peers.get(one).device().orElseThrow();
        return "device=" + device.ordinal() + " busId=" + device.busId() + " of rank=" + one;
    }

    /**
     * The result of connecting to all ranks.
     *
     * @param obstacles why this rank does not reach a peer, by peer
     * @param all as in {@link Reach}
     * @param reasons why each rank refused a descriptor, by rank; empty if it refused none
     */
    private record Attempt(Map<Integer, String> obstacles, List<Map<Integer, Outcome>> all, List<String> reasons) {

        /** Returns the ranks whose descriptor any rank refused, with a reason. */
        Map<Integer, String> refused() {
            Map<Integer, String> refused = new TreeMap<>();
            for (int one = 0; one < all.size(); one++) {
                String why = "rank=" + one + " could not take it: " + reasons.get(one);
                all.get(one).forEach((peer, outcome) -> {
                    if (outcome == Outcome.REFUSED) {
                        refused.putIfAbsent(peer, why);
                    }
                });
            }
            return refused;
        }
    }

    /** Makes this rank's memory, and returns what its peers need to connect. Adds the offer of a descriptor to `offers`. */
    private byte[] introduction(DeviceEngine engine, List<OfferedDescriptor> offers) {
        byte[] info = engine.connectInfo();
        OptionalInt descriptor = engine.takeDescriptor();
        byte[] wire = new byte[0];
        if (descriptor.isPresent()) {
            try {
                OfferedDescriptor offer = OfferedDescriptor.of(descriptor.getAsInt());
                offers.add(offer);
                wire = offer.wire();
            } catch (TransportException e) {
                engine.renounceDescriptors(e.getMessage());
                info = engine.connectInfo();
            }
        }
        return new WireWriter().blob(wire).blob(info).toBytes();
    }

    /**
     * Connects to some peers.
     *
     * @param connects returns true for a peer to connect to
     * @param obstacles why this rank did not reach a peer so far, by peer
     * @param before the outcomes so far of the peers to which this call does not connect
     */
    private Attempt connect(
            DeviceEngine engine,
            IntPredicate connects,
            List<byte[]> infos,
            Map<Integer, String> obstacles,
            Map<Integer, Outcome> before) {
        String refusal = "";
        WireWriter mine = new WireWriter();
        for (int peer = 0; peer < infos.size(); peer++) {
            Outcome outcome = before.getOrDefault(peer, Outcome.REACHED);
            if (connects.test(peer)) {
                Optional<String> kept = keptApart(peer);
                Optional<String> obstacle =
                        peer == rank || kept.isPresent() ? kept : obstacle(engine, peer, infos.get(peer));
                outcome = obstacle.isEmpty()
                        ? Outcome.REACHED
                        : kept.isPresent() || sameProcess(peer)
                                ? Outcome.NOT_REACHED
                                : engine.refusedDescriptor() ? Outcome.REFUSED : Outcome.NOT_MAPPED;
                obstacles.remove(peer);
                if (obstacle.isPresent()) {
                    obstacles.put(peer, obstacle.get());
                }
                if (outcome == Outcome.REFUSED && refusal.isEmpty()) {
                    refusal = obstacle.get();
                }
            }
            if (peers.sameHost(peer, rank)) {
                mine.u8(outcome.ordinal());
            }
        }
        List<byte[]> all =
                context.allGather(mine.text(refusal, MAX_REASON_CHARS).toBytes());
        List<Map<Integer, Outcome>> outcomes = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        for (int one = 0; one < all.size(); one++) {
            int from = one;
            outcomes.add(read(from, all.get(from), in -> {
                Map<Integer, Outcome> row = ofHost(from, () -> in.constant(Outcome.class));
                reasons.add(in.text(MAX_REASON_CHARS));
                return row;
            }));
        }
        return new Attempt(obstacles, outcomes, reasons);
    }

    /** Returns a value for each rank of a rank's host, which the supplier returns in ascending order. */
    private <T> Map<Integer, T> ofHost(int one, Supplier<T> next) {
        Map<Integer, T> values = new TreeMap<>();
        for (HostRank other : peers.ranksOfHost(one)) {
            values.put(other.rank(), next.get());
        }
        return values;
    }

    /** Connects to a peer's memory. Returns the reason if this rank's GPU cannot reach it. */
    private Optional<String> obstacle(DeviceEngine engine, int peer, byte[] sent) {
        List<byte[]> parts = read(peer, sent, in -> List.of(in.blob(MAX_INFO_BYTES), in.blob(MAX_INFO_BYTES)));
        byte[] wire = parts.get(0);
        byte[] info = parts.get(1);
        if (wire.length == 0 || sameProcess(peer)) {
            return engine.connect(peer, info, OptionalInt.empty());
        }
        try {
            return engine.connect(peer, info, OptionalInt.of(OfferedDescriptor.fetch(wire)));
        } catch (TransportException e) {
            return engine.connect(peer, info, OptionalInt.empty()).map(refused -> refused + ": " + e.getMessage());
        }
    }

    private static <T> T read(int peer, byte[] sent, Function<WireReader, T> content) {
        try {
            WireReader in = new WireReader(sent);
            T value = content.apply(in);
            in.end();
            return value;
        } catch (WireException e) {
            throw new TransportException(
                    "peer=" + peer + " length=" + sent.length + ": sent device handles that make no sense, "
                            + e.getMessage() + "; all ranks must run the same library",
                    e);
        }
    }
}
