package io.jccl.search;

import io.jccl.topology.HostGroups;
import io.jccl.topology.Node;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.Topology;
import java.util.List;
import java.util.Optional;

/**
 * Finds the channels of a host: routes through all ranks that together carry as much as the links allow, each the same.
 * What is claimed can be carried: on no directed link, nor on a network port that several devices share, do the channels
 * put more than its bandwidth. The search counts its steps, so that the same host gives the same channels everywhere.
 * By no network device come in and leave more channels than it allows ({@code maxconn}), even if fewer than asked for result.
 * Ranks that share a GPU follow one another on every channel.
 *
 * <p>Not safe to share. See {@code docs/search.md} for how it works and how close it comes to the bound of the smallest
 * cut.
 */
public final class ChannelSearch {

    /** Crossing rails is only worth more than this share of bandwidth. */
    private static final double WORTH_CROSSING = 1e-3;

    /** More channels, or a simpler tree, only for more than this share of bandwidth. */
    private static final double WORTH_MORE = 1e-6;

    private static final double EQUAL = 1e-9;

    private final SharedGpus gpus;
    private final HostGroups groups;
    private final Topology topology;
    private final NodePaths paths;
    private final SearchOptions options;
    private final Capacities capacities;
    private final List<Integer> ranks;
    private final List<Integer> nets;
    private long steps;
    private boolean reached;

    /** A search on one host. */
    public ChannelSearch(NodePaths paths, SearchOptions options) {
        this.gpus = SharedGpus.of(paths.topology());
        this.groups = HostGroups.of(gpus.distinct());
        this.topology = groups.reduced();
        this.paths = topology == paths.topology() ? paths : NodePaths.compute(topology, paths.policy());
        this.options = options;
        this.capacities = new Capacities(topology);
        this.ranks = topology.endpoints();
        this.nets = options.networks() ? usableNets() : List.of();
    }

    /** A search on the same host, reduced as this one's. */
    private ChannelSearch(ChannelSearch other, SearchOptions options) {
        this.gpus = other.gpus;
        this.groups = other.groups;
        this.topology = other.topology;
        this.paths = other.paths;
        this.options = options;
        this.capacities = other.capacities;
        this.ranks = other.ranks;
        this.nets = other.nets;
    }

    private List<Integer> usableNets() {
        return topology.indexesOf(NodeType.NET).stream()
                .filter(net -> ((Node.Net) topology.node(net)).maxConnections() > 0)
                .filter(net -> ranks.stream().anyMatch(rank -> joinedNodes(net, rank)))
                .toList();
    }

    /**
     * Trees that go with rings, one for each: the best of balanced trees, split trees and chains; of equals the first.
     *
     * @param rings what was found for {@link Pattern#RING}
     */
    public ChannelGraph searchTree(ChannelGraph rings) {
        SearchOptions asMany = options.withChannels(rings.channels());
        List<Pattern> patterns = nets.isEmpty() || ranks.size() == 1
                ? List.of(Pattern.BALANCED_TREE)
                : List.of(Pattern.BALANCED_TREE, Pattern.SPLIT_TREE, Pattern.TREE);
        ChannelGraph best = null;
        long spent = 0;
        for (Pattern pattern : patterns) {
            ChannelSearch search = new ChannelSearch(this, asMany.withSteps(options.steps() / patterns.size()));
            ChannelGraph found = search.found(pattern);
            spent += search.steps;
            if (best == null || found.interBandwidthGBps() > best.interBandwidthGBps() * (1 + WORTH_MORE)) {
                best = found;
            }
            if (search.reached) {
                break;
            }
        }
        steps = spent;
        return ofAllRanks(best);
    }

    /**
     * Chains to a network that reduces, whose first rank exchanges data with it, where only some of the host's devices lead there
     * ({@code coll}). Else those of trees use them already.
     */
    public Optional<ChannelGraph> searchChains() {
        List<Integer> reducing = nets.stream()
                .filter(net -> ((Node.Net) topology.node(net)).coll())
                .toList();
        if (reducing.isEmpty() || reducing.size() == nets.size()) {
            return Optional.empty();
        }
        return Optional.ofNullable(search(Pattern.TREE, reducing)).map(this::ofAllRanks);
    }

    /**
     * Channels of one pattern through all endpoints of the host.
     *
     * @throws IllegalArgumentException if no rank lives on this host, or two cannot reach each other
     */
    public ChannelGraph search(Pattern pattern) {
        return ofAllRanks(found(pattern));
    }

    /** The channels that given routes through {@link #ranks} and {@link #nets} make, at what these carry. */
    ChannelGraph given(Pattern pattern, List<Route> routes) {
        Traffic traffic = new Traffic(paths, capacities, pattern, ranks, nets, false, this::shares);
        Packing packing = new Packing(traffic);
        packing.reset(routes);
        double maxGBps = gpus.maxGBps(traffic.closed());
        return ofAllRanks(new GraphAssembly(paths, traffic, ranks, nets, maxGBps)
                .assemble(pattern, new Ladder.Best(routes, packing.total())));
    }

    /** The nodes of the ranks that are searched, of several on one GPU the first. */
    List<Node> ranks() {
        return ranks.stream().map(topology::node).toList();
    }

    /** The network devices that channels may use; empty where networks play no part. */
    List<Node.Net> nets() {
        return nets.stream().map(net -> (Node.Net) topology.node(net)).toList();
    }

    /** Whether data gets from one of {@link #ranks} to another and back, by their places. */
    boolean joined(int rank, int other) {
        return joinedNodes(ranks.get(rank), ranks.get(other));
    }

    /** Whether data gets from one of {@link #nets} to one of {@link #ranks} and back, by their places. */
    boolean reaches(int net, int rank) {
        return joinedNodes(nets.get(net), ranks.get(rank));
    }

    private boolean joinedNodes(int node, int other) {
        return paths.path(node, other).exists() && paths.path(other, node).exists();
    }

    /** Through those ranks that stand for all. */
    private ChannelGraph found(Pattern pattern) {
        if (ranks.isEmpty()) {
            throw new IllegalArgumentException(
                    "endpoints=0: no rank lives on this host; give gpu elements a rank, or add host elements");
        }
        ChannelGraph found = search(pattern, nets);
        if (found == null && !nets.isEmpty()) {
            found = search(pattern, List.of());
        }
        if (found == null) {
            throw new IllegalArgumentException("ranks="
                    + ranks.stream().map(node -> topology.node(node).name()).toList()
                    + ": no route through all of them; trim the topology to what a rank can reach");
        }
        return found;
    }

    private ChannelGraph ofAllRanks(ChannelGraph found) {
        ChannelGraph graph = found;
        if (groups.reduces()) {
            graph = graph.through(groups.expand(graph.orders()), groups.minGBpsOfOthers() / graph.channels());
        }
        // Their memory bounds the search already.
        return gpus.any()
                ? graph.through(gpus.expand(graph.orders(), graph.crossNic()), Double.POSITIVE_INFINITY)
                : graph;
    }

    private boolean shares(int node) {
        return gpus.shares(Topology.rankOf(topology.node(node)));
    }

    /** How many steps the last search took. */
    public long steps() {
        return steps;
    }

    /** The steps that the search of one pattern takes at most. */
    public long maxSteps() {
        return Math.max(options.steps(), 2 * RouteFinder.stepsOfFirst(ranks.size(), nets.size()));
    }

    private ChannelGraph search(Pattern pattern, List<Integer> devices) {
        StepBudget budget = new StepBudget(maxSteps());
        long forFirst = RouteFinder.stepsOfFirst(ranks.size(), devices.size());
        Traffic plain = new Traffic(paths, capacities, pattern, ranks, devices, false, this::shares);
        double maxGBps = gpus.maxGBps(pattern == Pattern.RING && devices.isEmpty());
        double bound = Math.min(
                maxGBps,
                budget.share((budget.left() - forFirst) / 8, part -> CutBound.of(topology, capacities, plain, part)));
        boolean mayCross = pattern == Pattern.RING
                && devices.size() > 1
                && options.crossNic() != SearchOptions.CrossNic.NEVER
                && options.maxChannels() > 1;
        long forPlain = mayCross ? Math.max(forFirst, budget.left() / 2) : budget.left();
        Ladder.Best best = budget.share(forPlain, part -> new Ladder(plain, options, part, bound, maxGBps).climb());
        Traffic traffic = plain;
        if (mayCross && (best == null || !best.reaches(bound) || options.crossNic() == SearchOptions.CrossNic.ALWAYS)) {
            Traffic mirrored = new Traffic(paths, capacities, pattern, ranks, devices, true, this::shares);
            Ladder.Best crossing = budget.share(
                    budget.left(), part -> new Ladder(mirrored, options, part, bound / 2, maxGBps / 2).climb());
            if (crossing != null && (best == null || 2 * crossing.total() >= best.total() * worthCrossing())) {
                best = crossing;
                traffic = mirrored;
            }
        }
        steps = budget.spent();
        reached = best != null && best.reaches(traffic.mirrored() ? bound / 2 : bound);
        return best == null ? null : new GraphAssembly(paths, traffic, ranks, devices, maxGBps).assemble(pattern, best);
    }

    private double worthCrossing() {
        return options.crossNic() == SearchOptions.CrossNic.ALWAYS ? 1 - EQUAL : 1 + WORTH_CROSSING;
    }
}
