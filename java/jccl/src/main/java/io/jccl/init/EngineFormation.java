package io.jccl.init;

import io.jccl.JcclException;
import io.jccl.PeerTransport;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeEngine;
import io.jccl.plan.Plan;
import io.jccl.plan.PlannedDevices;
import io.jccl.plan.PlannedDevices.Way;
import io.jccl.plan.TreeLinks;
import io.jccl.transport.EngineConnections;
import io.jccl.transport.PeerIdentity;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Connects one of the host's engines to those of the other ranks. All ranks call each method at the same time. */
final class EngineFormation {

    private final NativeEngine engine;
    private final Bootstrap membership;
    private final List<PeerInfo> peers;
    private final List<InetAddress> addresses;

    /** @param addresses where its network is listened on */
    EngineFormation(NativeEngine engine, Bootstrap membership, List<PeerInfo> peers, List<InetAddress> addresses) {
        this.engine = engine;
        this.membership = membership;
        this.peers = peers;
        this.addresses = List.copyOf(addresses);
    }

    /** Tells the peers how to reach this rank, and returns how each is reached, by rank. */
    List<PeerIdentity> introduce(Duration left) {
        byte[] mine = NativeCommunicator.connectInfo(
                engine.handle(),
                addresses.stream().map(InetAddress::getHostAddress).toArray(String[]::new));
        if (mine == null) {
            throw new JcclException("rank=" + membership.rank() + " addresses=" + addresses
                    + ": the native engine cannot listen: " + engine.lastError());
        }
        List<byte[]> all = membership.outOfBand().allGather(mine, left);
        List<PeerIdentity> identities = new ArrayList<>();
        for (int peer = 0; peer < peers.size(); peer++) {
            PeerInfo info = peers.get(peer);
            identities.add(new PeerIdentity(peer, info.hostId(), info.process(), all.get(peer)));
        }
        return identities;
    }

    /** Connects to every peer, sets rings and trees, and makes the engine ready. */
    void connect(
            List<PeerTransport> transports,
            List<PeerIdentity> identities,
            Plan plan,
            int channels,
            Supplier<Duration> left) {
        new EngineConnections(engine).connect(transports, identities);
        for (int channel = 0; channel < channels; channel++) {
            int like = channel % plan.channels();
            int ring = NativeCommunicator.setRing(engine.handle(), channel, plan.ring(like));
            EngineConnections.require(engine, "ring of channel=" + channel, ring);
            TreeLinks links = plan.tree(like, membership.rank());
            int tree = NativeCommunicator.setTree(engine.handle(), channel, links.up(), links.downRanks());
            EngineConnections.require(engine, "tree of channel=" + channel, tree);
        }
        int ways = NativeCommunicator.setPaths(engine.handle(), ways(plan, channels, membership.rank()));
        EngineConnections.require(engine, "network devices of the channels", ways);
        // A peer whose connection failed must be known before anybody relies on it.
        membership.outOfBand().barrier(left.get());
        EngineConnections.require(engine, "prepare", NativeCommunicator.prepare(engine.handle()));
    }

    /** The rows of {@link NativeCommunicator#setPaths}; none where all ranks are on one machine. */
    static int[] ways(Plan plan, int channels, int rank) {
        if (plan.machines().size() == 1) {
            return new int[0];
        }
        return IntStream.range(0, channels)
                .boxed()
                .flatMapToInt(channel -> ways(plan, channel, channel % plan.channels(), rank))
                .toArray();
    }

    private static IntStream ways(Plan plan, int channel, int like, int rank) {
        Stream<Way> others = Stream.of(PlannedDevices.ofOthers(plan, like, rank));
        return Stream.concat(PlannedDevices.of(plan, like, rank).stream(), others)
                .flatMapToInt(way -> IntStream.of(channel, way.from(), way.to(), way.out(), way.in()));
    }
}
