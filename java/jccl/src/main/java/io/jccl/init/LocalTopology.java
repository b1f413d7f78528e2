package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import io.jccl.plan.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.ChannelSearch;
import io.jccl.search.Pattern;
import io.jccl.search.SearchOptions;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.HostRank;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.MachineSource;
import io.jccl.topology.Node;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.topology.Trimmer;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.MachineTraits;
import io.jccl.tuning.PlanInput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** This machine's topology and the channels found on it. */
final class LocalTopology {

    private LocalTopology() {}

    /**
     * What one rank brings to the plan and to the cost model.
     *
     * @param channels the channels found on its machine
     * @param netGBps the bandwidth of its machine's best network device, in GB/s
     * @param traits what else its machine is
     */
    record Found(RankChannels channels, double netGBps, MachineTraits traits) {}

    /**
     * What stays on this rank beside what it tells the others.
     *
     * @param found what it tells
     * @param paths of this machine, as it was searched
     */
    record Searched(Found found, NodePaths paths) {}

    /**
     * Detects or reads the topology, finds the paths, trims, and searches rings and trees.
     *
     * @param rank this rank
     * @param peers who shares this rank's host, and who can hand it memory
     */
    static Searched search(Settings settings, int rank, PeerMap peers) {
        List<HostRank> hostRanks = peers.ranksOfHost(rank);
        XmlElement description = MachineSource.describe(settings, hostRanks);
        if (hostRanks.get(0).rank() == rank) {
            settings.get(TopologySettings.TOPO_DUMP_FILE).ifPresent(file -> dump(file, description));
        }
        Topology whole = GraphBuilder.build(description);
        requireEndpoints(settings, whole, hostRanks.stream().map(HostRank::rank).toList());
        Trimmed trimmed = trim(settings, whole, rank, peers);
        requireEndpoints(settings, trimmed.topology(), peers.ranksOfMachine(rank));
        return search(settings, trimmed, rank, peers);
    }

    /**
     * The same with the GPUs of the ranks as endpoints.
     *
     * @param ranks those of this rank's host, by the bus ids of their GPUs
     * @return empty where they are not all in the topology, or a file names the ranks
     */
    static Optional<Searched> searchGpus(Settings settings, int rank, PeerMap peers, Map<String, List<Integer>> ranks) {
        return MachineSource.describeGpus(settings, ranks)
                .map(GraphBuilder::build)
                .map(whole -> trim(settings, whole, rank, peers))
                .filter(trimmed -> ranksOf(trimmed.topology()).equals(new TreeSet<>(peers.ranksOfMachine(rank))))
                .map(trimmed -> search(settings, trimmed, rank, peers));
    }

    private record Trimmed(Topology topology, PathPolicy policy, boolean networks) {}

    private static Trimmed trim(Settings settings, Topology whole, int rank, PeerMap peers) {
        PathPolicy policy = PathPolicy.of(settings).withReach(peers.reach());
        boolean networks = peers.hasOtherMachines(rank);
        return new Trimmed(Trimmer.trim(NodePaths.compute(whole, policy), rank, networks), policy, networks);
    }

    private static Searched search(Settings settings, Trimmed trimmed, int rank, PeerMap peers) {
        Topology topology = trimmed.topology();
        NodePaths paths = NodePaths.compute(topology, trimmed.policy());
        SearchOptions options = SearchOptions.forMachine(topology, peers.coresOfMachine(rank), trimmed.networks())
                .withCrossNic(SearchOptions.CrossNic.of(settings));
        ChannelSearch search = new ChannelSearch(paths, options);
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        Found found = new Found(
                PlanInput.of(rank, peers.machineOf(rank), topology, ring, tree),
                networkGBps(topology),
                MachineTraits.of(topology));
        return new Searched(found, paths);
    }

    private static Set<Integer> ranksOf(Topology topology) {
        return topology.endpoints().stream()
                .map(node -> Topology.rankOf(topology.node(node)))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Machines that are acted on one real one may have no network device: then the speed of an unknown one is taken. */
    private static double networkGBps(Topology topology) {
        return topology.nodes().stream()
                .filter(node -> node instanceof Node.Net net && net.maxConnections() > 0)
                .mapToDouble(node -> ((Node.Net) node).bandwidthGBps())
                .max()
                .orElse(LinkSpeeds.network(0));
    }

    private static void requireEndpoints(Settings settings, Topology topology, List<Integer> ranks) {
        Set<Integer> found = ranksOf(topology);
        Set<Integer> wanted = new TreeSet<>(ranks);
        if (!found.equals(wanted)) {
            throw new BootstrapException(
                    "JCCL_TOPO_FILE=\"" + settings.text(TopologySettings.TOPO_FILE) + "\" ranks=" + found
                            + ": expected endpoints for exactly the ranks of this machine, " + wanted
                            + "; give the file host elements with these ranks, or unset it");
        }
    }

    private static void dump(Path file, XmlElement description) {
        try {
            Files.writeString(file, TopologyXmlWriter.write(description));
        } catch (IOException e) {
            throw new BootstrapException(
                    "JCCL_TOPO_DUMP_FILE=\"" + file + "\": cannot be written: " + e
                            + "; name a file in a directory that exists, or unset it",
                    e);
        }
    }
}
