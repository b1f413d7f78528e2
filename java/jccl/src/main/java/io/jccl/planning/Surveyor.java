package io.jccl.planning;

import io.jccl.plan.RankChannels;
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
 * Surveys one host: finds paths in its topology, trims what its ranks cannot use, and searches rings, trees and chains.
 *
 * @param policy what paths may use
 * @param crossNic whether rings may change network devices
 * @param networks whether other hosts take part
 * @param graphs channels over GPUs that are taken instead of searched ones
 * @param nanoClock what to time the searches with
 */
public record Surveyor(
        PathPolicy policy,
        SearchOptions.CrossNic crossNic,
        boolean networks,
        Optional<GraphFile> graphs,
        LongSupplier nanoClock) {

    /**
     * A survey, and what stays on its host.
     *
     * @param survey what the other ranks have to know
     * @param paths of the host, as it was searched
     * @param ringMillis how long the search of rings took
     * @param treeMillis how long the search of trees took
     * @param chainMillis that of chains
     * @param notes what was not taken from {@link #graphs}, or not as it is there
     */
    public record LocalSurvey(
            MachineSurvey survey,
            NodePaths paths,
            double ringMillis,
            double treeMillis,
            double chainMillis,
            List<String> notes) {}

    /** The paths of what a rank's host has for its ranks. */
    public NodePaths paths(Topology whole, int rank) {
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole, policy), rank, networks), policy);
    }

    /**
     * Searches.
     *
     * @param paths of the host, trimmed
     * @param rank a rank there
     * @param hostId its host
     * @param cores the processors that the host's ranks share
     * @throws io.jccl.topology.TopologyException if {@link #graphs} are no channels of this host
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
                HostTraits.of(topology),
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

    /** Hosts that are simulated on one may have no network device: then the speed of an unknown one is taken. */
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
