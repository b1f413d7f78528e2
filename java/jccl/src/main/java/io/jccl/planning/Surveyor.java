package io.jccl.planning;

import io.jccl.plan.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.ChannelSearch;
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
import java.util.function.LongSupplier;

/**
 * Surveys one host: finds paths in its topology, trims what its ranks cannot use, and searches rings and trees.
 *
 * @param policy what paths may use
 * @param crossNic whether rings may change network devices
 * @param networks whether other hosts take part
 * @param nanoClock what to time the searches with
 */
public record Surveyor(PathPolicy policy, SearchOptions.CrossNic crossNic, boolean networks, LongSupplier nanoClock) {

    /**
     * A survey, and what stays on its host.
     *
     * @param survey what the other ranks have to know
     * @param paths of the host, as it was searched
     * @param ringMillis how long the search of rings took
     * @param treeMillis how long the search of trees took
     */
    public record LocalSurvey(MachineSurvey survey, NodePaths paths, double ringMillis, double treeMillis) {}

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
     */
    public LocalSurvey survey(NodePaths paths, int rank, String hostId, int cores) {
        Topology topology = paths.topology();
        ChannelSearch search = new ChannelSearch(
                paths, SearchOptions.forHost(topology, cores, networks).withCrossNic(crossNic));
        long begin = nanoClock.getAsLong();
        ChannelGraph rings = search.search(Pattern.RING);
        long middle = nanoClock.getAsLong();
        ChannelGraph trees = search.searchTree(rings);
        long end = nanoClock.getAsLong();
        boolean gpu = topology.indexesOf(NodeType.HOST).isEmpty();
        MachineSurvey survey = new MachineSurvey(
                new RankChannels(rank, hostId, gpu, rings, trees),
                HostTraits.of(topology),
                networkGBps(topology),
                cores);
        return new LocalSurvey(survey, paths, (middle - begin) / 1e6, (end - middle) / 1e6);
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
