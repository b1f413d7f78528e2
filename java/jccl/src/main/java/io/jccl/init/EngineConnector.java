package io.jccl.init;

import io.jccl.PeerTransport;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.IbSettings;
import io.jccl.config.LoggedOnce;
import io.jccl.config.NetworkSettings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.Engine;
import io.jccl.nativelib.EngineConfig;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Rows;
import io.jccl.parts.InitContext;
import io.jccl.planning.Plan;
import io.jccl.planning.PlannedDevices;
import io.jccl.planning.PlannedDevices.NetworkPath;
import io.jccl.planning.PlannedHost;
import io.jccl.planning.TreeLinks;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.Topology;
import io.jccl.transport.PeerIdentity;
import io.jccl.transport.TransportSelector;
import io.jccl.tuning.SocketStreams;
import java.io.File;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Makes this rank's engines for host memory and connects them to those of other ranks. All ranks call each method at
 * about the same time.
 */
final class EngineConnector {

    private final InitContext context;
    private final Peers peers;
    private final NetPlugin.Choice plugin;
    private final SocketStreams streams;
    private final EngineConfig texts;

    /**
     * @param communicator the communicator's name
     * @param plugin the network plug-in that all ranks use, if there is one
     * @param streams how TCP carries a connection; the same on all ranks
     * @param topology the topology of this rank's host, whose network devices have the plan's numbers
     */
    EngineConnector(
            InitContext context,
            String communicator,
            Peers peers,
            NetPlugin.Choice plugin,
            SocketStreams streams,
            Topology topology) {
        this.context = context;
        this.peers = peers;
        this.plugin = plugin;
        this.streams = streams;
        this.texts = EngineSettings.texts(context.settings(), communicator, plugin.plugin(), topology);
    }

    /**
     * The connections of this rank's engine.
     *
     * @param transports the transport to each peer, in rank order
     * @param slowestInside the slowest transport between any two ranks of one host; the same on all ranks
     * @param addresses the addresses on which this rank listens for data connections
     */
    record Connections(List<PeerTransport> transports, TransportKind slowestInside, List<InetAddress> addresses) {}

    /** Creates an engine without connections. */
    NativeEngine create(int channels) {
        return NativeEngine.create(config(channels));
    }

    private EngineConfig config(int channels) {
        return EngineSettings.of(texts, context.settings(), context.membership().identity(), channels, streams, peers);
    }

    /** Agrees on transports, connects to every peer, sets rings and trees, and makes the engine ready. */
    Connections connect(NativeEngine engine, Plan plan) {
        List<InetAddress> addresses = NetworkInterfaces.forData(
                InitSettings.bootstrap(context.settings()), context.membership().localAddress());
        List<PeerIdentity> identities = introduce(engine, addresses);
        Connections connections = agree(engine, identities, plan, addresses);
        connect(engine, connections.transports(), infos(identities), plan, plan.channels());
        return connections;
    }

    /** Returns the connect information of an engine whose transports are known. */
    static byte[] connectInfo(NativeEngine engine, Connections known) {
        boolean hasNetwork =
                known.transports().stream().anyMatch(one -> one.kind().compareTo(TransportKind.SHM) > 0);
        return engine.connectInfo(hasNetwork ? texts(known.addresses()) : List.of());
    }

    /**
     * Connects to every peer over known transports, and makes the engine ready. If all ranks are on one host, no
     * connection may be relied upon until a barrier that the caller must add.
     */
    void connect(NativeEngine engine, Connections known, List<byte[]> infos, Plan plan) {
        boolean isInside = plan.hosts().size() == 1 && known.slowestInside().compareTo(TransportKind.SHM) <= 0;
        setConnections(engine, known.transports(), infos, plan, plan.channels());
        if (!isInside) {
            context.barrier();
        }
        engine.prepare(); // inside a host, relies on no connection
    }

    private static List<String> texts(List<InetAddress> addresses) {
        return addresses.stream().map(InetAddress::getHostAddress).toList();
    }

    /**
     * Makes a second engine and connects it over the same transports, for data that GPUs stage through the host.
     *
     * @param beforeIntroduction configures the engine before its connect information is sent
     * @param beforeConnecting configures the engine when the connect information of all ranks is known
     */
    NativeEngine connectStaging(
            Connections connections,
            Plan plan,
            int channels,
            Consumer<NativeEngine> beforeIntroduction,
            BiConsumer<NativeEngine, List<PeerIdentity>> beforeConnecting) {
        NativeEngine engine = NativeEngine.create(EngineSettings.forStaging(config(channels), context.settings()));
        boolean connected = false;
        try {
            beforeIntroduction.accept(engine);
            List<PeerIdentity> identities = introduce(engine, connections.addresses());
            beforeConnecting.accept(engine, identities);
            connect(engine, connections.transports(), infos(identities), plan, channels);
            connected = true;
            return engine;
        } finally {
            if (!connected) {
                engine.destroy();
            }
        }
    }

    /** Exchanges the connect information of all ranks, and returns it by rank. */
    private List<PeerIdentity> introduce(NativeEngine engine, List<InetAddress> addresses) {
        List<byte[]> all = context.allGather(engine.connectInfo(texts(addresses)));
        List<PeerIdentity> identities = new ArrayList<>();
        for (int peer = 0; peer < all.size(); peer++) {
            PeerInfo info = peers.get(peer);
            identities.add(new PeerIdentity(peer, info.hostId(), info.process(), all.get(peer)));
        }
        return identities;
    }

    /** Returns true if this host has an adapter for InfiniBand verbs, or one of the settings for verbs is set. */
    private boolean expectsVerbs() {
        String[] adapters = new File("/sys/class/infiniband").list();
        return adapters != null && adapters.length > 0 || IbSettings.areSet(context.settings());
    }

    private Connections agree(
            NativeEngine engine, List<PeerIdentity> identities, Plan plan, List<InetAddress> addresses) {
        Map<TransportKind, String> disabled = TransportSelector.disabled(context.settings());
        if (plugin.plugin().isEmpty()) {
            disabled.putIfAbsent(TransportKind.PLUGIN, plugin.obstacle());
        }
        // Most hosts have neither a plug-in nor verbs, so their absence is not worth a remark.
        Set<TransportKind> unmentioned = EnumSet.noneOf(TransportKind.class);
        if (plugin.plugin().isEmpty() && !plugin.asked()) {
            unmentioned.add(TransportKind.PLUGIN);
        }
        if (!expectsVerbs()) {
            unmentioned.add(TransportKind.IB);
        }
        TransportSelector selector = new TransportSelector(
                identities.get(context.rank()),
                context.settings().get(TransportSettings.TRANSPORT),
                disabled,
                unmentioned,
                (kind, peer) -> engine.obstacle(kind, peer.connectInfo()));
        List<PeerTransport> mine = new ArrayList<>();
        for (PeerIdentity peer : identities) {
            if (peer.rank() != context.rank()) {
                mine.add(selector.select(peer));
            }
        }
        List<List<Integer>> ranksOfHosts = new ArrayList<>();
        for (PlannedHost host : plan.hosts()) {
            ranksOfHosts.add(host.ranks());
        }
        List<byte[]> all = context.allGather(TransportSelector.encode(context.size(), mine));
        TransportKind slowestInside = TransportSelector.slowestInside(all, ranksOfHosts);
        List<PeerTransport> agreed = TransportSelector.agree(context.rank(), mine, all);
        warnOfClearText(agreed);
        return new Connections(agreed, slowestInside, addresses);
    }

    /** Names the networks whose data is not encrypted although a setting asks for encryption. */
    private void warnOfClearText(List<PeerTransport> transports) {
        if (!context.settings().get(NetworkSettings.ENCRYPTION).isUsed()) {
            return;
        }
        Set<String> clear = new TreeSet<>();
        for (PeerTransport one : transports) {
            if (one.kind() == TransportKind.PLUGIN || one.kind() == TransportKind.IB) {
                clear.add(one.kind().label());
            }
        }
        if (context.settings().get(AlgorithmSettings.COLLNET_ENABLE)
                && !NetworkSettings.netPluginNames(context.settings()).isEmpty()) {
            clear.add("CollNet");
        }
        if (!clear.isEmpty()) {
            LoggedOnce.warn(
                    EngineConnector.class,
                    NetworkSettings.ENCRYPTION.name() + "=on: data may go over " + String.join(", ", clear)
                            + ", which JCCL does not encrypt; JCCL_ENCRYPTION=required uses encrypted sockets instead");
        }
    }

    private static List<byte[]> infos(List<PeerIdentity> identities) {
        return identities.stream().map(PeerIdentity::connectInfo).toList();
    }

    private void connect(
            NativeEngine engine, List<PeerTransport> transports, List<byte[]> infos, Plan plan, int channels) {
        setConnections(engine, transports, infos, plan, channels);
        // All ranks must have connected before any of them relies on a connection.
        context.barrier();
        engine.prepare();
    }

    private void setConnections(
            NativeEngine engine, List<PeerTransport> transports, List<byte[]> infos, Plan plan, int channels) {
        for (PeerTransport one : transports) {
            engine.connect(one.peer(), one.kind(), infos.get(one.peer()));
        }
        setRingsAndTrees(engine, plan, channels, context.rank());
        engine.setPaths(paths(plan, channels, context.rank()));
        engine.setHosts(hosts(plan));
    }

    /** Sets the rings and trees of all channels. Channels beyond the plan's repeat those of the plan. */
    static void setRingsAndTrees(Engine engine, Plan plan, int channels, int rank) {
        for (int channel = 0; channel < channels; channel++) {
            int like = channel % plan.channels();
            engine.setRing(channel, plan.ring(like));
            TreeLinks links = plan.tree(like, rank);
            engine.setTree(channel, links.up(), links.downRanks());
        }
    }

    /** Returns the host of each rank. Hosts are numbered in the order of their first ranks. */
    static int[] hosts(Plan plan) {
        int[] hostOf = new int[plan.size()];
        Map<PlannedHost, Integer> numbers = new HashMap<>();
        for (int rank = 0; rank < hostOf.length; rank++) {
            hostOf[rank] = numbers.computeIfAbsent(plan.hostOf(rank), host -> numbers.size());
        }
        return hostOf;
    }

    /** Returns the rows of {@link NativeEngine#setPaths}; none if all ranks are on one host. */
    static int[] paths(Plan plan, int channels, int rank) {
        if (plan.hosts().size() == 1) {
            return new int[0];
        }
        return IntStream.range(0, channels)
                .boxed()
                .flatMapToInt(channel -> paths(plan, channel, channel % plan.channels(), rank))
                .toArray();
    }

    private static IntStream paths(Plan plan, int channel, int like, int rank) {
        Stream<NetworkPath> others = Stream.of(PlannedDevices.ofOthers(plan, like, rank));
        return Stream.concat(PlannedDevices.of(plan, like, rank).stream(), others)
                .flatMapToInt(path -> Arrays.stream(Rows.path(channel, path.from(), path.to(), path.out(), path.in())));
    }
}
