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

    private static final int MAX_INFO_BYTES = 1 << 16;

    /** The result of connecting to a peer. */
    private enum Outcome {
        REACHED,
        NOT_REACHED,
        /** A descriptor was refused; legacy handles may still work. */
        REFUSED
    }

    private final InitContext context;
    private final Settings settings;
    private final Peers peers;
    private final int rank;

    DeviceHandleExchange(InitContext context, Peers peers) {
        this.context = context;
        this.settings = context.settings();
        this.peers = peers;
        this.rank = context.rank();
    }

    /**
     * Tells which ranks do not reach the GPU memory of which peers.
     *
     * @param rank this rank
     * @param obstacles why this rank does not reach a peer, by peer
     * @param all {@code all[rank][peer]} is true if the rank does not reach the peer; the same on all ranks
     */
    record Reach(int rank, Map<Integer, String> obstacles, boolean[][] all) {

        /** Returns the reason why this rank does not reach a peer; empty if it does. */
        Optional<String> obstacle(int peer) {
            return all[rank][peer]
                    ? Optional.of(obstacles.getOrDefault(peer, "this rank does not reach its memory"))
                    : Optional.empty();
        }

        boolean isWhole() {
            for (boolean[] row : all) {
                for (boolean missing : row) {
                    if (missing) {
                        return false;
                    }
                }
            }
            return true;
        }
    }

    /** Returns true if this rank must offer its memory by a descriptor, to other processes of its host. */
    boolean needsDescriptors() {
        return hasOtherProcessesOnHost() && settings.get(TransportSettings.CUMEM_ENABLE) != 0;
    }

    private boolean hasOtherProcessesOnHost() {
        return !settings.get(TransportSettings.P2P_DISABLE)
                && IntStream.range(0, context.size())
                        .anyMatch(peer -> peers.sameHost(peer, rank) && !sameProcess(peer));
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
        return attempt.reach(rank);
    }

    private record Attempt(Map<Integer, String> obstacles, Optional<String> ownRefusal, List<List<Outcome>> all) {

        boolean anyRefused() {
            return all.stream().anyMatch(row -> row.contains(Outcome.REFUSED));
        }

        Reach reach(int rank) {
            boolean[][] missing = new boolean[all.size()][all.size()];
            for (int from = 0; from < all.size(); from++) {
                for (int to = 0; to < all.size(); to++) {
                    missing[from][to] = all.get(from).get(to) != Outcome.REACHED;
                }
            }
            return new Reach(rank, obstacles, missing);
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
            Optional<String> obstacle = peer == rank ? Optional.empty() : obstacle(engine, peer, infos.get(peer));
            if (obstacle.isPresent()) {
                obstacles.put(peer, obstacle.get());
                outcome = engine.refusedDescriptor() ? Outcome.REFUSED : Outcome.NOT_REACHED;
                if (outcome == Outcome.REFUSED && refusal.isEmpty()) {
                    refusal = obstacle;
                }
            }
            mine.u8(outcome.ordinal());
        }
        List<byte[]> all = context.allGather(mine.toBytes());
        return new Attempt(
                obstacles,
                refusal,
                IntStream.range(0, all.size())
                        .mapToObj(peer -> read(peer, all.get(peer), this::outcomes))
                        .toList());
    }

    private List<Outcome> outcomes(WireReader in) {
        return IntStream.range(0, context.size())
                .mapToObj(peer -> in.constant(Outcome.class))
                .toList();
    }

    /** Connects to a peer's memory. Returns the reason if this rank's GPU cannot reach it. */
    private Optional<String> obstacle(DeviceEngine engine, int peer, byte[] sent) {
        if (!peers.sameHost(peer, rank)) {
            return Optional.of("another host");
        }
        if (settings.get(TransportSettings.P2P_DISABLE)) {
            return Optional.of(settings.origin(TransportSettings.P2P_DISABLE).name() + " is set");
        }
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
