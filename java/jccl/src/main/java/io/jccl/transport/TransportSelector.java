package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Chooses the transport to each peer: the first of p2p, shm and socket that can reach it. Both ends of a pair must use the
 * same one, so the choices of all ranks are {@linkplain #agree brought together} and the slower of two wins.
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
            return Optional.of(self.sameHost(peer) ? "another process" : "another machine");
        }
        if (kind == TransportKind.SHM && !self.sameHost(peer)) {
            return Optional.of("another machine");
        }
        return probe.obstacle(kind, peer);
    }

    private static String advantage(TransportKind kind) {
        return switch (kind) {
            case P2P -> "same process";
            case SHM -> "same machine";
            case SOCKET -> "reachable by network";
        };
    }

    /** One byte per rank: this rank's choices in a form for all ranks; its own place is left at 0. */
    public static byte[] encode(int size, List<PeerTransport> mine) {
        byte[] kinds = new byte[size];
        for (PeerTransport one : mine) {
            kinds[one.peer()] = (byte) one.kind().ordinal();
        }
        return kinds;
    }

    /**
     * The slowest transport between any two ranks of one machine, by which all ranks predict; p2p where each is alone.
     *
     * @param all what {@link #encode} made on each rank, by rank
     * @param machines the ranks of each machine
     */
    public static TransportKind slowestInside(List<byte[]> all, List<List<Integer>> machines) {
        int slowest = 0;
        for (List<Integer> ranks : machines) {
            for (int rank : ranks) {
                byte[] kinds = all.get(rank);
                requireSense(rank, kinds.length == all.size(), kinds);
                for (int peer : ranks) {
                    if (peer != rank) {
                        slowest = Math.max(slowest, kind(rank, kinds, peer).ordinal());
                    }
                }
            }
        }
        return TransportKind.values()[slowest];
    }

    private static TransportKind kind(int rank, byte[] kinds, int peer) {
        requireSense(rank, kinds[peer] >= 0 && kinds[peer] < TransportKind.values().length, kinds);
        return TransportKind.values()[kinds[peer]];
    }

    private static void requireSense(int peer, boolean sense, byte[] kinds) {
        if (!sense) {
            throw new TransportException("peer=" + peer + ": sent transports that make no sense, length=" + kinds.length
                    + "; use the same JCCL version on all ranks");
        }
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
        List<PeerTransport> agreed = new ArrayList<>();
        for (PeerTransport one : mine) {
            byte[] theirs = all.get(one.peer());
            requireSense(one.peer(), theirs.length == all.size(), theirs);
            TransportKind back = kind(one.peer(), theirs, rank);
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
