package io.jccl.init;

import io.jccl.TransportException;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.OfferedDescriptor;
import io.jccl.parts.InitContext;
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
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exchanges handles, so that the ranks of a host can map the memory of each other's GPUs. Other processes get file
 * descriptors of the driver. If one is refused, all ranks start again with CUDA IPC's legacy handles. All ranks call
 * each method together.
 */
final class DeviceHandleExchange {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceHandleExchange.class);

    private static final int MAX_INFO_BYTES = 1 << 17;

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
     * @param all the outcome of each rank's connection to each peer, by rank and peer; the same on all ranks
     */
    record Reach(int rank, Map<Integer, String> obstacles, List<List<Outcome>> all) {

        /** Returns the reason why this rank does not reach a peer; empty if it does. */
        Optional<String> obstacle(int peer) {
            return reaches(rank, peer)
                    ? Optional.empty()
                    : Optional.of(obstacles.getOrDefault(peer, "this rank does not reach its memory"));
        }

        boolean reaches(int one, int peer) {
            return all.get(one).get(peer) == Outcome.REACHED;
        }

        /** Returns true if two ranks reach each other's memory. */
        boolean together(int one, int other) {
            return reaches(one, other) && reaches(other, one);
        }

        boolean isWhole() {
            return all.stream().allMatch(row -> row.stream().allMatch(outcome -> outcome == Outcome.REACHED));
        }

        /** Returns the peers whose memory a rank cannot map, although the GPUs could use it. */
        List<Integer> notMapped(int one) {
            return IntStream.range(0, all.size())
                    .filter(peer -> all.get(one).get(peer) == Outcome.NOT_MAPPED)
                    .boxed()
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
        Attempt attempt = attempt(engine);
        if (attempt.anyRefused()) {
            String reason = attempt.ownRefusal.orElse("another rank could not take one");
            engine.renounceDescriptors(reason);
            attempt = attempt(engine);
        }
        if (hasOtherProcessesOnHost()) {
            LOG.info("rank={}: its device memory for other processes: {}", rank, engine.handleExchange());
        }
        return probed(engine, new Reach(rank, attempt.obstacles, attempt.all));
    }

    /**
     * Tests the memory of all pairs of ranks that reach each other. Returns what is left: a pair that reads or writes
     * other data than there is counts as unreached on both ranks.
     */
    private Reach probed(DeviceEngine engine, Reach reach) {
        int size = context.size();
        boolean any = IntStream.range(0, size)
                .anyMatch(one -> IntStream.range(one + 1, size).anyMatch(other -> reach.together(one, other)));
        if (!any) {
            return reach;
        }
        int[] partners = IntStream.range(0, size)
                .filter(peer -> peer != rank && reach.together(rank, peer))
                .toArray();
        byte[] failures =
                engine.probe(partners, context::barrier, () -> context.left().toNanos());
        List<byte[]> found = context.allGather(failures);
        List<List<Outcome>> all = new ArrayList<>();
        for (int one = 0; one < size; one++) {
            List<Outcome> row = new ArrayList<>(reach.all.get(one));
            for (int other = 0; other < size; other++) {
                if (found.get(one)[other] != 0 || found.get(other)[one] != 0) {
                    row.set(other, Outcome.FALSIFIED);
                }
            }
            all.add(row);
        }
        Map<Integer, String> obstacles = new TreeMap<>(reach.obstacles);
        for (int peer : partners) {
            int mine = failures[peer];
            int theirs = found.get(peer)[rank];
            if ((mine | theirs) != 0) {
                obstacles.put(peer, "the test of the GPUs' memory failed");
                if (rank < peer) {
                    warnOfFalsified(peer, mine, theirs);
                }
            }
        }
        return new Reach(rank, obstacles, all);
    }

    private void warnOfFalsified(int peer, int mine, int theirs) {
        List<String> failed = new ArrayList<>();
        if ((mine & DeviceEngine.PROBE_READS) != 0) {
            failed.add("reads by rank=" + rank);
        }
        if ((theirs & DeviceEngine.PROBE_READS) != 0) {
            failed.add("reads by rank=" + peer);
        }
        if ((theirs & DeviceEngine.PROBE_WRITES) != 0) {
            failed.add("writes by rank=" + rank);
        }
        if ((mine & DeviceEngine.PROBE_WRITES) != 0) {
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

    private record Attempt(Map<Integer, String> obstacles, Optional<String> ownRefusal, List<List<Outcome>> all) {

        boolean anyRefused() {
            return all.stream().anyMatch(row -> row.contains(Outcome.REFUSED));
        }
    }

    private Attempt attempt(DeviceEngine engine) {
        byte[] info = engine.connectInfo();
        OptionalInt descriptor = engine.takeDescriptor();
        Optional<OfferedDescriptor> offer = Optional.empty();
        if (descriptor.isPresent()) {
            try {
                offer = Optional.of(OfferedDescriptor.of(descriptor.getAsInt()));
            } catch (TransportException e) {
                engine.renounceDescriptors(e.getMessage());
                info = engine.connectInfo();
            }
        }
        try {
            byte[] wire = offer.map(OfferedDescriptor::wire).orElse(new byte[0]);
            return connect(
                    engine,
                    context.allGather(new WireWriter().blob(wire).blob(info).toBytes()));
        } finally {
            offer.ifPresent(OfferedDescriptor::close); // each peer has fetched the descriptor or given up
        }
    }

    private Attempt connect(DeviceEngine engine, List<byte[]> infos) {
        Map<Integer, String> obstacles = new TreeMap<>();
        Optional<String> refusal = Optional.empty();
        WireWriter mine = new WireWriter();
        for (int peer = 0; peer < infos.size(); peer++) {
            Outcome outcome = Outcome.REACHED;
            Optional<String> kept = keptApart(peer);
            Optional<String> obstacle =
                    peer == rank || kept.isPresent() ? kept : obstacle(engine, peer, infos.get(peer));
            if (obstacle.isPresent()) {
                obstacles.put(peer, obstacle.get());
                outcome = kept.isPresent() || sameProcess(peer)
                        ? Outcome.NOT_REACHED
                        : engine.refusedDescriptor() ? Outcome.REFUSED : Outcome.NOT_MAPPED;
                if (outcome == Outcome.REFUSED && refusal.isEmpty()) {
                    refusal = obstacle;
                }
            }
            if (peers.sameHost(peer, rank)) {
                mine.u8(outcome.ordinal());
            }
        }
        List<byte[]> all = context.allGather(mine.toBytes());
        return new Attempt(
                obstacles,
                refusal,
                IntStream.range(0, all.size())
                        .mapToObj(peer -> read(peer, all.get(peer), in -> outcomes(peer, in)))
                        .toList());
    }

    /** Reads the outcomes of a rank: one for each rank of its host, because it reaches no others. */
    private List<Outcome> outcomes(int from, WireReader in) {
        return IntStream.range(0, context.size())
                .mapToObj(peer -> peers.sameHost(peer, from) ? in.constant(Outcome.class) : Outcome.NOT_REACHED)
                .toList();
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
