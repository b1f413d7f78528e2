package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.config.IbSettings;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
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

    private static final int RUN_BYTES = 3;
    private static final int MAX_IN_RUN = 0xffff;

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

    /**
     * This rank's choices as bytes for all ranks: runs of equal kinds in the order of ranks, 3 bytes each. All ranks get
     * those of all: written out they would be as many bytes as there are ranks to the third power.
     *
     * <pre>
     * | kind, u8 | ranks, u16 | kind, u8 | ranks, u16 | ...      the rank's own place counts as p2p
     * </pre>
     */
    public static byte[] encode(int size, List<PeerTransport> mine) {
        byte[] kinds = new byte[size];
        for (PeerTransport one : mine) {
            kinds[one.peer()] = (byte) one.kind().ordinal();
        }
        ByteBuffer runs = ByteBuffer.allocate(size * RUN_BYTES);
        for (int begin = 0, end; begin < size; begin = end) {
            for (end = begin; end < size && kinds[end] == kinds[begin] && end - begin < MAX_IN_RUN; ) {
                end++;
            }
            runs.put(kinds[begin]).putShort((short) (end - begin));
        }
        return Arrays.copyOf(runs.array(), runs.position());
    }

    private static byte[] decode(int rank, byte[] runs, int size) {
        byte[] kinds = new byte[size];
        int end = 0;
        ByteBuffer in = ByteBuffer.wrap(runs);
        while (in.remaining() >= RUN_BYTES) {
            byte kind = in.get();
            int ranks = Short.toUnsignedInt(in.getShort());
            requireSense(rank, kind >= 0 && kind < TransportKind.values().length && ranks <= size - end, runs);
            Arrays.fill(kinds, end, end + ranks, kind);
            end += ranks;
        }
        requireSense(rank, end == size && !in.hasRemaining(), runs);
        return kinds;
    }

    /**
     * The slowest transport between any two ranks of one host, by which all ranks predict; p2p where each is alone.
     *
     * @param all what {@link #encode} made on each rank, by rank
     * @param hosts the ranks of each host
     */
    public static TransportKind slowestInside(List<byte[]> all, List<List<Integer>> hosts) {
        int slowest = 0;
        for (List<Integer> ranks : hosts) {
            for (int rank : ranks) {
                byte[] kinds = decode(rank, all.get(rank), all.size());
                for (int peer : ranks) {
                    if (peer != rank) {
                        slowest = Math.max(slowest, kinds[peer]);
                    }
                }
            }
        }
        return TransportKind.values()[slowest];
    }

    private static void requireSense(int peer, boolean sense, byte[] runs) {
        if (!sense) {
            throw new TransportException("peer=" + peer + ": sent transports that make no sense, length=" + runs.length
                    + "; use the same JCCL version on all ranks");
        }
    }

    /** Two ranks that can only use sockets, as text; reads the runs, not each pair: there may be many ranks. */
    private static Optional<String> obstacleToVerbs(List<byte[]> all) {
        for (int rank = 0; rank < all.size(); rank++) {
            ByteBuffer in = ByteBuffer.wrap(all.get(rank));
            for (int peer = 0; in.remaining() >= RUN_BYTES; ) {
                if (in.get() == TransportKind.SOCKET.ordinal()) {
                    return Optional.of("no ib: rank " + rank + " cannot use it to rank " + peer
                            + ", and a communicator uses one network");
                }
                peer += Short.toUnsignedInt(in.getShort());
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
        Optional<String> noVerbs = obstacleToVerbs(all);
        List<PeerTransport> agreed = new ArrayList<>();
        for (PeerTransport one : mine) {
            TransportKind back = TransportKind.values()[decode(one.peer(), all.get(one.peer()), all.size())[rank]];
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
