package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import io.jccl.config.IbSettings;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;

/**
 * Chooses the transport to each peer: the first of p2p, shm, ib and socket that can reach it. Both ends of a pair must use the
 * same one, so the choices of all ranks are {@linkplain #agree brought together} and the slower of two wins. A communicator
 * uses one network: where any two ranks need sockets, no two use verbs.
 */
public final class TransportSelector {

    /** Asks the native engine whether a transport reaches a peer. */
    @FunctionalInterface
    public interface Probe {
        /** Why the transport cannot reach the peer; empty if it can. */
        Optional<String> obstacle(TransportKind kind, PeerIdentity peer);
    }

    private final PeerIdentity self;
    private final Optional<TransportKind> forced;
    private final Set<TransportKind> disabled;
    private final Probe probe;

    /**
     * @param self this rank
     * @param forced the only transport that may be used, if a setting says so
     * @param disabled transports that settings forbid
     * @param probe tries a transport
     */
    public TransportSelector(
            PeerIdentity self, Optional<TransportKind> forced, Set<TransportKind> disabled, Probe probe) {
        this.self = self;
        this.forced = forced;
        this.disabled = Set.copyOf(disabled);
        this.probe = probe;
    }

    /** The transports that settings forbid. */
    public static Set<TransportKind> disabled(Settings settings) {
        Set<TransportKind> disabled = EnumSet.noneOf(TransportKind.class);
        if (settings.get(TransportSettings.P2P_DISABLE)) {
            disabled.add(TransportKind.P2P);
        }
        if (settings.get(TransportSettings.SHM_DISABLE)) {
            disabled.add(TransportKind.SHM);
        }
        if (settings.get(IbSettings.IB_DISABLE)) {
            disabled.add(TransportKind.IB);
        }
        return disabled;
    }

    /**
     * What joins ranks of one host as far as settings say, before any of them has tried.
     *
     * @param oneProcess whether the ranks of each host are threads of one process
     */
    public static TransportKind expectedInside(Settings settings, boolean oneProcess) {
        Set<TransportKind> disabled = disabled(settings);
        TransportKind memory =
                oneProcess && !disabled.contains(TransportKind.P2P) ? TransportKind.P2P : TransportKind.SHM;
        return settings.get(TransportSettings.TRANSPORT)
                .orElse(disabled.contains(memory) ? TransportKind.SOCKET : memory);
    }

    /**
     * This rank's choice for one peer.
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
            reasons.add("no " + kind.label() + ": " + obstacle.get());
        }
        throw new TransportException("rank=" + self.rank() + " peer=" + peer.rank()
                + ": no transport reaches the peer: " + String.join("; ", reasons));
    }

    private PeerTransport selectForced(PeerIdentity peer, TransportKind kind) {
        Optional<String> obstacle = obstacle(kind, peer);
        if (obstacle.isPresent()) {
            throw new TransportException("JCCL_TRANSPORT=" + kind.label() + " rank=" + self.rank() + " peer="
                    + peer.rank() + ": the peer cannot be reached so: " + obstacle.get() + "; unset JCCL_TRANSPORT");
        }
        return new PeerTransport(peer.rank(), kind, "forced by a setting");
    }

    private Optional<String> obstacle(TransportKind kind, PeerIdentity peer) {
        if (disabled.contains(kind)) {
            return Optional.of("JCCL_" + kind.name() + "_DISABLE is set");
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
            case IB -> "reachable by InfiniBand verbs";
            case SOCKET -> "reachable by network";
        };
    }

    /** Consecutive ranks that a rank uses the same transport to; its own place counts as p2p. */
    private record Run(TransportKind kind, int begin, int end) {

        boolean has(int rank) {
            return begin <= rank && rank < end;
        }
    }

    /**
     * This rank's choices as bytes for all ranks: the runs in the order of ranks, each a kind and a number of ranks. All
     * ranks get those of all: written out they would be as many bytes as there are ranks to the third power.
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
     * The slowest transport between any two ranks of one host, by which all ranks predict; p2p where each is alone.
     *
     * @param all what {@link #encode} made on each rank, by rank
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

    /** Two ranks that can only use sockets, as text; reads the runs, not each pair: there may be many ranks. */
    private static Optional<String> obstacleToVerbs(List<List<Run>> all) {
        for (int rank = 0; rank < all.size(); rank++) {
            for (Run run : all.get(rank)) {
                if (run.kind() == TransportKind.SOCKET) {
                    return Optional.of("no ib: rank " + rank + " cannot use it to rank " + run.begin()
                            + ", and a communicator uses one network");
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Brings the choices of all ranks together.
     *
     * @param rank this rank
     * @param mine this rank's choices
     * @param all what {@link #encode} made on each rank, by rank
     * @return this rank's final transports, in rank order
     */
    public static List<PeerTransport> agree(int rank, List<PeerTransport> mine, List<byte[]> all) {
        List<List<Run>> runs = decode(all);
        Optional<String> noVerbs = obstacleToVerbs(runs);
        List<PeerTransport> agreed = new ArrayList<>();
        for (PeerTransport one : mine) {
            TransportKind back = kindTo(rank, runs.get(one.peer()));
            TransportKind slower = back.compareTo(one.kind()) > 0 ? back : one.kind();
            if (slower == TransportKind.IB && noVerbs.isPresent()) {
                agreed.add(new PeerTransport(one.peer(), TransportKind.SOCKET, noVerbs.get()));
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
