package io.jccl.init;

import io.jccl.TransportException;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.OfferedDescriptor;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the ranks of a machine reach the memory of each other's GPUs. Other processes get it as file descriptors of the driver;
 * where one of them is refused, all ranks begin again with CUDA IPC's legacy handles. All ranks do this together.
 */
final class DeviceHandOver {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceHandOver.class);

    private static final byte REACHED = 0;
    private static final byte NOT_REACHED = 1;
    private static final byte REFUSED = 2; // a descriptor, so that there is another way

    private final Settings settings;
    private final Bootstrap membership;
    private final List<PeerInfo> peers;
    private final int rank;

    DeviceHandOver(Settings settings, Bootstrap membership, List<PeerInfo> peers) {
        this.settings = settings;
        this.membership = membership;
        this.peers = peers;
        this.rank = membership.rank();
    }

    /**
     * Which ranks are not reached.
     *
     * @param obstacles why this rank does not reach a peer, by peer
     * @param all by rank and peer, whether the one does not reach the other; the same on all ranks
     */
    record Reach(Map<Integer, String> obstacles, boolean[][] all) {

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

    /** Whether this rank's memory should have a descriptor, for other processes of its machine. */
    boolean wantsDescriptors() {
        return othersOfTheMachine() && settings.get(TransportSettings.CUMEM_ENABLE) != 0;
    }

    private boolean othersOfTheMachine() {
        PeerInfo own = peers.get(rank);
        return !settings.get(TransportSettings.P2P_DISABLE)
                && peers.stream()
                        .anyMatch(peer -> peer.hostId().equals(own.hostId())
                                && !peer.process().equals(own.process()));
    }

    /** Makes the memory of this rank's connections, and connects it to that of all peers that it reaches. */
    Reach connect(DeviceEngine engine, Supplier<Duration> left) {
        Attempt attempt = attempt(engine, left);
        if (attempt.anyRefused()) {
            String reason = attempt.ownRefusal.orElse("another rank could not take one");
            engine.renounceDescriptors(reason);
            attempt = attempt(engine, left);
        }
        if (othersOfTheMachine()) {
            LOG.info("rank={}: its device memory for other processes: {}", rank, engine.handleExchange());
        }
        return attempt.reach(peers.size());
    }

    private record Attempt(Map<Integer, String> obstacles, Optional<String> ownRefusal, List<byte[]> all) {

        boolean anyRefused() {
            for (byte[] row : all) {
                for (byte outcome : row) {
                    if (outcome == REFUSED) {
                        return true;
                    }
                }
            }
            return false;
        }

        Reach reach(int size) {
            boolean[][] missing = new boolean[size][size];
            for (int from = 0; from < size; from++) {
                for (int to = 0; to < size; to++) {
                    missing[from][to] = all.get(from)[to] != REACHED;
                }
            }
            return new Reach(obstacles, missing);
        }
    }

    private Attempt attempt(DeviceEngine engine, Supplier<Duration> left) {
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
            List<byte[]> infos = membership.outOfBand().allGather(together(wire, info), left.get());
            return connect(engine, infos, left);
        } finally {
            offer.ifPresent(OfferedDescriptor::close); // whoever wanted it has it, or has given up
        }
    }

    private static byte[] together(byte[] wire, byte[] info) {
        return ByteBuffer.allocate(Integer.BYTES + wire.length + info.length)
                .putInt(wire.length)
                .put(wire)
                .put(info)
                .array();
    }

    private Attempt connect(DeviceEngine engine, List<byte[]> infos, Supplier<Duration> left) {
        Map<Integer, String> obstacles = new TreeMap<>();
        Optional<String> refusal = Optional.empty();
        byte[] mine = new byte[peers.size()];
        for (int peer = 0; peer < peers.size(); peer++) {
            if (peer == rank) {
                continue;
            }
            Optional<String> obstacle = obstacle(engine, peer, infos.get(peer));
            if (obstacle.isPresent()) {
                obstacles.put(peer, obstacle.get());
                mine[peer] = engine.refusedDescriptor() ? REFUSED : NOT_REACHED;
                if (engine.refusedDescriptor() && refusal.isEmpty()) {
                    refusal = obstacle;
                }
            }
        }
        return new Attempt(obstacles, refusal, membership.outOfBand().allGather(mine, left.get()));
    }

    /** Why the memory of a peer's GPU is not reached from this rank's. */
    private Optional<String> obstacle(DeviceEngine engine, int peer, byte[] told) {
        PeerInfo own = peers.get(rank);
        if (!peers.get(peer).hostId().equals(own.hostId())) {
            return Optional.of("another machine");
        }
        if (settings.get(TransportSettings.P2P_DISABLE)) {
            return Optional.of("JCCL_P2P_DISABLE is set");
        }
        ByteBuffer in = ByteBuffer.wrap(told);
        byte[] wire = new byte[checkedLength(peer, in)];
        in.get(wire);
        byte[] info = new byte[in.remaining()];
        in.get(info);
        if (wire.length == 0 || peers.get(peer).process().equals(own.process())) {
            return engine.connect(peer, info, OptionalInt.empty());
        }
        try {
            return engine.connect(peer, info, OptionalInt.of(OfferedDescriptor.fetch(wire)));
        } catch (TransportException e) {
            return engine.connect(peer, info, OptionalInt.empty()).map(refused -> refused + ": " + e.getMessage());
        }
    }

    private static int checkedLength(int peer, ByteBuffer told) {
        int length = told.remaining() < Integer.BYTES ? -1 : told.getInt();
        if (length < 0 || length > told.remaining()) {
            throw new TransportException("peer=" + peer + " length=" + length
                    + ": what it tells of its device memory is cut off; all ranks must run the same library");
        }
        return length;
    }
}
