package io.jccl.transport;

import io.jccl.Encryption;
import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.config.IbSettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;

/**
 * Chooses the transport to each peer: the first of p2p, shm, plugin, ib and socket that can reach it. Both ends of a
 * pair must use the same transport, so {@link #agree} compares the choices of all ranks, and the slower of two wins. A
 * communicator uses one network: if two pairs of ranks need different networks, all pairs that need a network use
 * sockets.
 */
public final class TransportSelector {

    /** Asks the native engine whether a transport reaches a peer. */
    @FunctionalInterface
    public interface Probe {
        /** Returns the reason why the transport cannot reach the peer; empty if it can. */
        Optional<String> obstacle(TransportKind kind, PeerIdentity peer);
    }

    private final PeerIdentity self;
    private final Optional<TransportKind> forced;
    private final Map<TransportKind, String> disabled;
    private final Set<TransportKind> unmentioned;
    private final Probe probe;

    /**
     * @param self this rank
     * @param forced the only transport that may be used, if a setting requires one
     * @param disabled the transports that cannot be used, and why
     * @param unmentioned transports that are left out of the reasons for a choice if they cannot reach a peer
     * @param probe tries a transport
     */
    public TransportSelector(
            PeerIdentity self,
            Optional<TransportKind> forced,
            Map<TransportKind, String> disabled,
            Set<TransportKind> unmentioned,
            Probe probe) {
        this.self = self;
        this.forced = forced;
        this.disabled = Map.copyOf(disabled);
        this.unmentioned = Set.copyOf(unmentioned);
        this.probe = probe;
    }

    /** Returns the transports that settings disable, each with the setting. */
    public static Map<TransportKind, String> disabled(Settings settings) {
        Map<TransportKind, String> disabled = new EnumMap<>(TransportKind.class);
        disable(TransportKind.P2P, TransportSettings.P2P_DISABLE, settings, disabled);
        disable(TransportKind.SHM, TransportSettings.SHM_DISABLE, settings, disabled);
        disable(TransportKind.IB, IbSettings.IB_DISABLE, settings, disabled);
        if (settings.get(NetworkSettings.ENCRYPTION) == Encryption.REQUIRED) {
            disabled.put(TransportKind.IB, NetworkSettings.ENCRYPTION_EXCLUDES);
            disabled.put(TransportKind.PLUGIN, NetworkSettings.ENCRYPTION_EXCLUDES);
        }
        return disabled;
    }

    private static void disable(
            TransportKind kind, Setting<Boolean> setting, Settings settings, Map<TransportKind, String> disabled) {
        if (settings.get(setting)) {
            disabled.put(kind, settings.origin(setting).name() + " is set");
        }
    }

    /**
     * Returns the transport that ranks of one host will use according to the settings, before any rank has tried.
     *
     * @param oneProcess true if the ranks of each host are threads of one process
     */
    public static TransportKind expectedInside(Settings settings, boolean oneProcess) {
        Set<TransportKind> disabled = disabled(settings).keySet();
        TransportKind memory =
                oneProcess && !disabled.contains(TransportKind.P2P) ? TransportKind.P2P : TransportKind.SHM;
        return settings.get(TransportSettings.TRANSPORT)
                .orElse(disabled.contains(memory) ? TransportKind.SOCKET : memory);
    }

    /**
     * Returns this rank's choice for one peer.
     *
     * @throws TransportException if a forced transport cannot reach the peer
     */
    public PeerTransport select(PeerIdentity peer) {
        if (forced.isPresent()) {
            return selectForced(peer, forced.get());
        }
        List<String> reasons = new ArrayList<>();
        for (TransportKind kind : TransportKind.values()) {
            Optional<String> obstacle = obstacle(kind, peer);
            if (obstacle.isEmpty()) {
                reasons.add(advantage(kind));
                return new PeerTransport(peer.rank(), kind, String.join("; ", reasons));
            }
            if (!unmentioned.contains(kind)) {
                reasons.add("no " + kind.label() + ": " + obstacle.get());
            }
        }
        throw new TransportException("rank=" + self.rank() + " peer=" + peer.rank()
                + ": no transport reaches the peer: " + String.join("; ", reasons));
    }

    private PeerTransport selectForced(PeerIdentity peer, TransportKind kind) {
        Optional<String> obstacle = obstacle(kind, peer);
        if (obstacle.isPresent()) {
            throw new TransportException("JCCL_TRANSPORT=" + kind.label() + " rank=" + self.rank() + " peer="
                    + peer.rank() + ": it cannot reach the peer: " + obstacle.get() + "; unset JCCL_TRANSPORT");
        }
        return new PeerTransport(peer.rank(), kind, "forced by a setting");
    }

    private Optional<String> obstacle(TransportKind kind, PeerIdentity peer) {
        if (disabled.containsKey(kind)) {
            return Optional.of(disabled.get(kind));
        }
        if (kind == TransportKind.P2P && !self.sameProcess(peer)) {
            return Optional.of(self.sameHost(peer) ? "another process" : "another host");
        }
        if (kind == TransportKind.SHM && !self.sameHost(peer)) {
            return Optional.of("another host");
        }
        return probe.obstacle(kind, peer);
    }

    private static String advantage(TransportKind kind) {
        return switch (kind) {
            case P2P -> "same process";
            case SHM -> "same host";
            case PLUGIN -> "reachable by a network plug-in";
            case IB -> "reachable by InfiniBand verbs";
            case SOCKET -> "reachable by network";
        };
    }

    /** Consecutive ranks to which a rank uses the same transport. The rank itself counts as a rank reached by p2p. */
    private record Run(TransportKind kind, int begin, int end) {

        boolean has(int rank) {
            return begin <= rank && rank < end;
        }
    }

    /**
     * Encodes this rank's choices for all ranks: runs of consecutive ranks, each as a transport and a number of ranks.
     * All ranks receive the choices of all ranks: without runs, {@code n} ranks would receive {@code n³} bytes in all.
     */
    public static byte[] encode(int size, List<PeerTransport> mine) {
        TransportKind[] kinds = new TransportKind[size];
        Arrays.fill(kinds, TransportKind.P2P);
        for (PeerTransport one : mine) {
            kinds[one.peer()] = one.kind();
        }
        WireWriter out = new WireWriter();
        for (int begin = 0, end; begin < size; begin = end) {
            for (end = begin + 1; end < size && kinds[end] == kinds[begin]; ) {
                end++;
            }
            out.u8(kinds[begin].ordinal()).i32(end - begin);
        }
        return out.toBytes();
    }

    private static List<Run> decode(int rank, byte[] sent, int size) {
        List<Run> runs = new ArrayList<>();
        try {
            WireReader in = new WireReader(sent);
            for (int begin = 0, end; begin < size; begin = end) {
                TransportKind kind = in.constant(TransportKind.class);
                end = begin + in.i32In("ranks", 1, size - begin);
                runs.add(new Run(kind, begin, end));
            }
            in.end();
        } catch (WireException e) {
            throw new TransportException(
                    "peer=" + rank + ": sent transports that make no sense, length=" + sent.length + " ("
                            + e.getMessage() + "); use the same JCCL version on all ranks",
                    e);
        }
        return runs;
    }

    private static List<List<Run>> decode(List<byte[]> all) {
        List<List<Run>> runs = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
            runs.add(decode(rank, all.get(rank), all.size()));
        }
        return runs;
    }

    private static TransportKind kindTo(int peer, List<Run> runs) {
        for (Run run : runs) {
            if (run.has(peer)) {
                return run.kind();
            }
        }
        throw new NoSuchElementException("peer=" + peer + ": in none of the runs");
    }

    /**
     * Returns the slowest transport between any two ranks of one host, which all ranks use for predictions. Returns p2p
     * if every host has one rank.
     *
     * @param all the result of {@link #encode} on each rank, by rank
     * @param hosts the ranks of each host
     */
    public static TransportKind slowestInside(List<byte[]> all, List<List<Integer>> hosts) {
        TransportKind slowest = TransportKind.P2P;
        for (List<Integer> ranks : hosts) {
            for (int rank : ranks) {
                for (Run run : decode(rank, all.get(rank), all.size())) {
                    for (int peer : ranks) {
                        if (peer != rank && run.has(peer) && run.kind().compareTo(slowest) > 0) {
                            slowest = run.kind();
                        }
                    }
                }
            }
        }
        return slowest;
    }

    /**
     * Returns the reason why all ranks use sockets, as text: either two ranks cannot use a faster network, or pairs of
     * ranks need different networks. Empty if all pairs that need a network have chosen the same one. Reads runs
     * instead of pairs because there may be many ranks.
     */
    private static Optional<String> obstacleToFaster(List<List<Run>> all) {
        TransportKind fastest = TransportKind.SOCKET;
        TransportKind slowest = TransportKind.P2P;
        String pair = "";
        for (int rank = 0; rank < all.size(); rank++) {
            for (Run run : all.get(rank)) {
                if (!run.kind().isNetwork()) {
                    continue;
                }
                if (run.kind().compareTo(fastest) < 0) {
                    fastest = run.kind();
                }
                if (run.kind().compareTo(slowest) > 0) {
                    slowest = run.kind();
                    pair = "rank " + rank + " cannot use it to rank " + run.begin();
                }
            }
        }
        return fastest == slowest || pair.isEmpty()
                ? Optional.empty()
                : Optional.of("no " + fastest.label() + ": " + pair + ", and a communicator uses one network");
    }

    /**
     * Determines this rank's final transports from the choices of all ranks.
     *
     * @param rank this rank
     * @param mine this rank's choices
     * @param all the result of {@link #encode} on each rank, by rank
     * @return this rank's final transports, in rank order
     */
    public static List<PeerTransport> agree(int rank, List<PeerTransport> mine, List<byte[]> all) {
        List<List<Run>> runs = decode(all);
        Optional<String> onlySockets = obstacleToFaster(runs);
        List<PeerTransport> agreed = new ArrayList<>();
        for (PeerTransport one : mine) {
            TransportKind back = kindTo(rank, runs.get(one.peer()));
            TransportKind slower = back.compareTo(one.kind()) > 0 ? back : one.kind();
            if (slower.isNetwork() && slower != TransportKind.SOCKET && onlySockets.isPresent()) {
                agreed.add(new PeerTransport(one.peer(), TransportKind.SOCKET, onlySockets.get()));
                continue;
            }
            agreed.add(
                    back.compareTo(one.kind()) > 0
                            ? new PeerTransport(
                                    one.peer(),
                                    back,
                                    "the peer cannot use " + one.kind().label() + " to this rank")
                            : one);
        }
        return List.copyOf(agreed);
    }
}
