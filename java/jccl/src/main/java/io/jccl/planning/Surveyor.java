package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.ChannelSearch;
import io.jccl.search.GivenChannels;
import io.jccl.search.GraphFile;
import io.jccl.search.Pattern;
import io.jccl.search.SearchOptions;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.Node;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.Topology;
import io.jccl.topology.Trimmer;
import io.jccl.tuning.HostTraits;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Surveys one host: finds the paths in its topology, removes nodes that its ranks cannot use, and searches rings, trees
 * and chains.
 *
 * @param policy the rules for paths
 * @param crossNic whether rings may leave by another network device than the one by which they enter
 * @param networks whether other hosts take part
 * @param graphs a file with channels over GPUs that replace searched ones
 * @param nanoClock the clock that times the searches
 */
public record Surveyor(
        PathPolicy policy,
        SearchOptions.CrossNic crossNic,
        boolean networks,
        Optional<GraphFile> graphs,
        LongSupplier nanoClock) {

    /**
     * A survey together with data that stays on its host.
     *
     * @param survey the part that the other ranks need
     * @param paths the paths of the host that were searched
     * @param ringMillis duration of the search for rings
     * @param treeMillis duration of the search for trees
     * @param chainMillis duration of the search for chains
     * @param notes remarks on the parts of {@link #graphs} that were not used, or were used with changes
     */
    public record LocalSurvey(
            MachineSurvey survey,
            NodePaths paths,
            double ringMillis,
            double treeMillis,
            double chainMillis,
            List<String> notes) {}

    /** Returns the paths in the part of a host's topology that {@code rank} and the ranks it reaches can use. */
    public NodePaths paths(Topology whole, int rank) {
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole, policy), rank, networks), policy);
    }

    /**
     * Searches the channels of a host.
     *
     * @param paths the paths of the trimmed host
     * @param rank a rank on the host
     * @param hostId the id of the host
     * @param cores the number of processors that the host's ranks share
     * @throws io.jccl.topology.TopologyException if {@link #graphs} do not contain channels of this host
     */
    public LocalSurvey survey(NodePaths paths, int rank, String hostId, int cores) {
        Topology topology = paths.topology();
        ChannelSearch search = new ChannelSearch(
                paths, SearchOptions.forHost(topology, cores, networks).withCrossNic(crossNic));
        boolean gpu = topology.indexesOf(NodeType.HOST).isEmpty();
        Optional<GraphFile> given = graphs.filter(file -> gpu);
        Optional<GivenChannels> givenRings = given.flatMap(file -> file.rings(search, crossNic));
        Optional<GivenChannels> givenTrees = given.flatMap(file -> file.trees(search, crossNic));
        long begin = nanoClock.getAsLong();
        ChannelGraph rings = givenRings.map(GivenChannels::graph).orElseGet(() -> search.search(Pattern.RING));
        long middle = nanoClock.getAsLong();
        ChannelGraph trees = givenTrees.map(GivenChannels::graph).orElseGet(() -> search.searchTree(rings));
        long end = nanoClock.getAsLong();
        Optional<ChannelGraph> chains = search.searchChains();
        long last = nanoClock.getAsLong();
        MachineSurvey survey = new MachineSurvey(
                new RankChannels(rank, hostId, gpu, rings, trees, chains),
                HostTraits.of(paths),
                networkGBps(topology),
                cores);
        return new LocalSurvey(
                survey,
                paths,
                (middle - begin) / 1e6,
                (end - middle) / 1e6,
                (last - end) / 1e6,
                notes(gpu, givenRings, givenTrees));
    }

    private List<String> notes(boolean gpu, Optional<GivenChannels> rings, Optional<GivenChannels> trees) {
        List<String> notes = new ArrayList<>();
        graphs.ifPresent(file -> {
            if (rings.isEmpty() || trees.isEmpty()) {
                notes.add(file.source() + ": rings " + origin(rings) + ", trees " + origin(trees)
                        + (gpu ? "" : ", because ranks work on memory of the host"));
            }
            rings.flatMap(GivenChannels::note).ifPresent(note -> notes.add(file.source() + " " + note));
            trees.flatMap(GivenChannels::note).ifPresent(note -> notes.add(file.source() + " " + note));
        });
        return notes;
    }

    private static String origin(Optional<GivenChannels> channels) {
        return channels.isPresent() ? "given" : "searched";
    }

    /**
     * Returns the bandwidth of the best network device. Simulated hosts may have no network device; then returns the
     * bandwidth that is assumed for an unknown device.
     */
    private static double networkGBps(Topology topology) {
        double best = 0;
        for (int index : topology.indexesOf(NodeType.NET)) {
            Node.Net net = (Node.Net) topology.node(index);
            if (net.maxConnections() > 0) {
                best = Math.max(best, net.bandwidthGBps());
            }
        }
        return best > 0 ? best : LinkSpeeds.network(0);
    }
}
