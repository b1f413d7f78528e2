package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.config.Registry;
import io.jccl.config.Settings;
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
import io.jccl.tuning.PlanInput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
     */
    record Found(RankChannels channels, double netGBps) {}

    /**
     * Detects or reads the topology, finds the paths, trims, and searches rings and trees.
     *
     * @param rank this rank
     * @param hostId this rank's machine
     * @param localRanks the ranks of this machine
     * @param cores how many processors they share
     * @param networks whether other machines take part
     */
    static Found search(
            Settings settings, int rank, String hostId, List<HostRank> localRanks, int cores, boolean networks) {
        XmlElement description = MachineSource.describe(settings, localRanks);
        if (localRanks.get(0).rank() == rank) {
            settings.get(Registry.TOPO_DUMP_FILE).ifPresent(file -> dump(file, description));
        }
        Topology whole = GraphBuilder.build(description);
        requireEndpoints(settings, whole, localRanks);
        PathPolicy policy = PathPolicy.of(settings);
        Topology trimmed = Trimmer.trim(NodePaths.compute(whole, policy), rank, networks);
        NodePaths paths = NodePaths.compute(trimmed, policy);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forMachine(trimmed, cores, networks));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        return new Found(PlanInput.of(rank, hostId, trimmed, ring, tree), networkGBps(trimmed));
    }

    /** Machines that are acted on one real one may have no network device: then the speed of an unknown one is taken. */
    private static double networkGBps(Topology topology) {
        return topology.nodes().stream()
                .filter(Node.Net.class::isInstance)
                .mapToDouble(node -> ((Node.Net) node).bandwidthGBps())
                .max()
                .orElse(LinkSpeeds.network(0));
    }

    private static void requireEndpoints(Settings settings, Topology topology, List<HostRank> localRanks) {
        Set<Integer> found = topology.endpoints().stream()
                .map(node -> Topology.rankOf(topology.node(node)))
                .collect(Collectors.toCollection(TreeSet::new));
        Set<Integer> wanted = localRanks.stream().map(HostRank::rank).collect(Collectors.toCollection(TreeSet::new));
        if (!found.equals(wanted)) {
            throw new BootstrapException("JCCL_TOPO_FILE=\"" + settings.text(Registry.TOPO_FILE) + "\" ranks=" + found
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
