package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.JcclException;
import io.jccl.config.LoggedOnce;
import io.jccl.config.Origin;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import io.jccl.config.TransportSettings;
import io.jccl.internal.Causes;
import io.jccl.parts.InitContext;
import io.jccl.planning.MachineSurvey;
import io.jccl.planning.RankChannels;
import io.jccl.planning.SurveyCodec;
import io.jccl.planning.Surveyor;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.GraphFile;
import io.jccl.search.GraphFileWriter;
import io.jccl.search.SearchOptions;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.HostRank;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.NodePaths;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologySource;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.topology.XmlElement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The surveys of all ranks.
 *
 * @param hosts the surveys by rank, with the endpoints that the topology names
 * @param gpus the surveys by rank, with the ranks' GPUs as endpoints; empty if a rank has no GPU or only an instance of
 *     one (MIG), or if a GPU is in no topology
 * @param paths the paths of this rank's host, as the search used them
 * @param notes lines for the log about ignored or changed channels of the file of graphs
 * @param direct the network devices that use the memory of this rank's GPU
 * @param apart why the GPUs of ranks of this host and this rank's GPU do not use each other's memory, by rank; empty if
 *     the plan does not know the GPUs
 */
record Surveys(
        List<MachineSurvey> hosts,
        List<MachineSurvey> gpus,
        NodePaths paths,
        List<String> notes,
        DirectSlots.Devices direct,
        Map<Integer, String> apart) {

    /** Surveys this rank's host and exchanges the surveys; all ranks call this together. */
    static Surveys exchange(InitContext context, Peers peers, Optional<NetPlugin> plugin, Optional<GraphFile> graphs) {
        int rank = context.rank();
        LocalSurvey host = host(context.settings(), rank, peers, plugin, graphs);
        Optional<LocalSurvey> gpu = gpus(context.settings(), rank, peers, plugin, graphs);
        boolean lowest = peers.ranksOfDomain(rank).get(0) == rank;
        byte[] mine = SurveyCodec.encode(new SurveyCodec.Found(host.survey(), gpu.map(LocalSurvey::survey)), lowest);
        List<byte[]> all = context.allGather(mine);
        List<MachineSurvey> hosts = new ArrayList<>();
        List<MachineSurvey> gpus = new ArrayList<>();
        for (int peer = 0; peer < all.size(); peer++) {
            SurveyCodec.Found found =
                    SurveyCodec.decode(peer, peers.domainOf(peer), peers.ranksOfDomain(peer), all.get(peer));
            hosts.add(found.host());
            if (found.gpus().isPresent()) {
                gpus.add(found.gpus().get());
            }
        }
        boolean planned = gpus.size() == all.size();
        LocalSurvey onDevices = planned ? gpu.orElseThrow() : host;
        if (rank == 0) {
            RankChannels channels = onDevices.survey().channels();
            Topology topology = onDevices.paths().topology();
            dump(
                    context.settings(),
                    TopologySettings.GRAPH_DUMP_FILE,
                    () -> GraphFileWriter.write(channels.rings(), channels.trees(), topology));
        }
        if (!planned
                && peers.allHaveDevices()
                && context.settings().get(TransportSettings.P2P_LEVEL).isPresent()) {
            Origin level = context.settings().origin(TransportSettings.P2P_LEVEL);
            LoggedOnce.warn(
                    Surveys.class,
                    level.name() + "=" + context.settings().text(TransportSettings.P2P_LEVEL)
                            + ": has no effect, because the topology does not contain the GPUs of all ranks as whole GPUs"
                            + "; set " + TransportSettings.P2P_DISABLE.name() + "=1 to keep GPUs apart");
        }
        return new Surveys(
                hosts,
                planned ? gpus : List.of(),
                host.paths(),
                onDevices.notes(),
                planned ? DirectSlots.Devices.of(gpu.orElseThrow().paths(), rank) : DirectSlots.Devices.NONE,
                planned ? apart(gpu.orElseThrow().paths(), rank) : Map.of());
    }

    /**
     * Returns why ranks of this host and this rank do not use each other's GPU memory, by rank. Ranks of other isolation
     * domains are in no common topology.
     */
    private static Map<Integer, String> apart(NodePaths paths, int rank) {
        Topology topology = paths.topology();
        Map<Integer, Integer> nodes = new TreeMap<>();
        topology.endpoints().forEach(node -> nodes.put(Topology.rankOf(topology.node(node)), node));
        Map<Integer, String> apart = new TreeMap<>();
        nodes.forEach((peer, node) -> paths.apart(nodes.get(rank), node).ifPresent(reason -> apart.put(peer, reason)));
        return Collections.unmodifiableMap(apart);
    }

    /** Detects or reads the topology of this host, and surveys it. */
    static LocalSurvey host(
            Settings settings, int rank, Peers peers, Optional<NetPlugin> plugin, Optional<GraphFile> graphs) {
        List<HostRank> hostRanks = peers.ranksOfHost(rank);
        XmlElement description = TopologySource.describe(settings, Parts.networks(settings, plugin), hostRanks);
        if (hostRanks.get(0).rank() == rank) {
            dump(settings, TopologySettings.TOPO_DUMP_FILE, () -> TopologyXmlWriter.write(description));
        }
        Topology whole = GraphBuilder.build(description);
        List<Integer> ranks = new ArrayList<>();
        for (HostRank one : hostRanks) {
            ranks.add(one.rank());
        }
        requireEndpoints(settings, whole, ranks);
        Surveyor surveyor = surveyor(settings, rank, peers, graphs);
        NodePaths paths = surveyor.paths(whole, rank);
        requireEndpoints(settings, paths.topology(), peers.ranksOfDomain(rank));
        return surveyor.survey(paths, rank, peers.domainOf(rank), peers.coresOfDomain(rank));
    }

    /** Surveys this host with the ranks' GPUs as endpoints. Returns empty if the topology does not contain them all. */
    private static Optional<LocalSurvey> gpus(
            Settings settings, int rank, Peers peers, Optional<NetPlugin> plugin, Optional<GraphFile> graphs) {
        if (!peers.allHaveDevices() || anyInstance(peers)) {
            return Optional.empty();
        }
        Map<String, List<Integer>> ranksOfGpu = new TreeMap<>();
        peers.ranksOfHost(rank).forEach(one -> ranksOfGpu
                .computeIfAbsent(peers.get(one.rank()).device().orElseThrow().busId(), busId -> new ArrayList<>())
                .add(one.rank()));
        Surveyor surveyor = surveyor(settings, rank, peers, graphs);
        return TopologySource.describeGpus(settings, Parts.networks(settings, plugin), ranksOfGpu)
                .map(GraphBuilder::build)
                .map(whole -> surveyor.paths(whole, rank))
                .filter(paths -> ranksOf(paths.topology()).equals(new TreeSet<>(peers.ranksOfDomain(rank))))
                .map(paths -> surveyor.survey(paths, rank, peers.domainOf(rank), peers.coresOfDomain(rank)));
    }

    private static Surveyor surveyor(Settings settings, int rank, Peers peers, Optional<GraphFile> graphs) {
        return new Surveyor(
                Parts.paths(settings).withReach(peers.reach()),
                SearchOptions.CrossNic.of(settings),
                peers.hasOtherDomains(rank),
                graphs,
                System::nanoTime);
    }

    /**
     * Returns true if ranks use instances of a split GPU (MIG). These have the same bus id but separate memories, and
     * it is not known how they are connected.
     */
    private static boolean anyInstance(Peers peers) {
        Map<String, Set<String>> uuids = new TreeMap<>();
        peers.ranksOfGpus()
                .forEach((gpu, ranks) -> ranks.forEach(rank -> uuids.computeIfAbsent(gpu, key -> new TreeSet<>())
                        .add(peers.get(rank).device().orElseThrow().uuid())));
        return uuids.values().stream().anyMatch(instances -> instances.size() > 1);
    }

    private static Set<Integer> ranksOf(Topology topology) {
        Set<Integer> ranks = new TreeSet<>();
        for (int node : topology.endpoints()) {
            ranks.add(Topology.rankOf(topology.node(node)));
        }
        return ranks;
    }

    private static void requireEndpoints(Settings settings, Topology topology, List<Integer> ranks) {
        Set<Integer> found = ranksOf(topology);
        Set<Integer> expected = new TreeSet<>(ranks);
        if (!found.equals(expected)) {
            throw new BootstrapException(
                    settings.origin(TopologySettings.TOPO_FILE).name() + "=\""
                            + settings.text(TopologySettings.TOPO_FILE) + "\" ranks=" + found
                            + ": expected endpoints for exactly the ranks of this host, " + expected
                            + "; give the file host elements with these ranks, name it by NCCL_TOPO_FILE, under which its"
                            + " ranks are ignored, or unset it");
        }
    }

    /** Writes the file that a setting names. A failure is only a warning if the setting has NCCL's name. */
    private static void dump(Settings settings, Setting<Optional<Path>> setting, Supplier<String> text) {
        Optional<Path> file = settings.get(setting);
        if (file.isEmpty()) {
            return;
        }
        Origin origin = settings.origin(setting);
        String source = origin.name() + "=\"" + file.get() + "\"";
        try {
            Files.writeString(file.get(), text.get());
        } catch (IOException e) {
            fail(
                    origin,
                    new BootstrapException(
                            source + ": cannot be written: " + Causes.describe(e)
                                    + "; name a file in a directory that exists, or unset it",
                            e));
        } catch (TopologyException e) {
            fail(origin, new TopologyException(source + " " + e.getMessage() + ", or unset it", e));
        }
    }

    private static void fail(Origin origin, JcclException failure) {
        if (!origin.isOfNccl()) {
            throw failure;
        }
        LoggedOnce.warn(Surveys.class, failure.getMessage());
    }
}
