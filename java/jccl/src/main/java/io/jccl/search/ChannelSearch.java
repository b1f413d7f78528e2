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
 * Finds the channels of a host: routes through all ranks, of equal bandwidth, whose total bandwidth is as high as the
 * links allow. The host can carry this bandwidth: the channels overload no directed link and no network port that
 * several devices share. The search counts its steps instead of time, so that equal hosts get equal channels
 * everywhere. No network device carries more channels than its {@code maxconn}, counted for each direction, even if
 * that leaves fewer channels than asked for. Ranks that share a GPU follow one another on every channel.
 *
 * <p>Not safe to share between threads. {@code docs/search.md} explains the algorithm and how close it comes to the
 * bound of the smallest cut.
 */
public final class ChannelSearch {

    /** Rings cross rails only if that gains at least this share of bandwidth. */
    private static final double WORTH_CROSSING = 1e-3;

    /**
     * A tree pattern replaces one that comes earlier in the order of preference only if it gains more than this share
     * of bandwidth.
     */
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

    /** Prepares a search on one host. */
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

    /**
     * Prepares a search with other options. Takes over the host from another search, which has already omitted ranks
     * from it.
     */
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
     * Returns as many trees as there are rings. Chooses the best of balanced trees, split trees and chains, in this
     * order of preference if they are equally good.
     *
     * @param rings the result for {@link Pattern#RING}
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
     * Returns chains to a network that reduces; the first rank of a chain exchanges data with the network. Empty unless
     * some, but not all, of the host's network devices lead to such a network ({@code coll}): if all do, the chains of
     * trees already use them.
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
     * Returns channels of one pattern through all endpoints of the host.
     *
     * @throws IllegalArgumentException if the host has no ranks, or two ranks cannot reach each other
     */
    public ChannelGraph search(Pattern pattern) {
        return ofAllRanks(found(pattern));
    }

    /**
     * Returns the channels of given routes through {@link #ranks} and {@link #nets}, with the bandwidth that the host
     * can carry on them.
     */
    ChannelGraph given(Pattern pattern, List<Route> routes) {
        Traffic traffic = new Traffic(paths, capacities, pattern, ranks, nets, false, this::shares);
        Packing packing = new Packing(traffic);
        packing.reset(routes);
        double maxGBps = gpus.maxGBps(traffic.closed());
        return ofAllRanks(new GraphAssembly(paths, traffic, ranks, nets, maxGBps)
                .assemble(pattern, new Ladder.Best(routes, packing.total())));
    }

    /** Returns the nodes of the ranks that are searched; of several ranks on one GPU only the first. */
    List<Node> ranks() {
        return ranks.stream().map(topology::node).toList();
    }

    /** Returns the network devices that channels may use; empty if no networks are used. */
    List<Node.Net> nets() {
        return nets.stream().map(net -> (Node.Net) topology.node(net)).toList();
    }

    /** Returns true if data can travel between two of {@link #ranks}, given by index, in both directions. */
    boolean joined(int rank, int other) {
        return joinedNodes(ranks.get(rank), ranks.get(other));
    }

    /**
     * Returns true if data can travel between one of {@link #nets} and one of {@link #ranks}, given by index, in both
     * directions.
     */
    boolean reaches(int net, int rank) {
        return joinedNodes(nets.get(net), ranks.get(rank));
    }

    private boolean joinedNodes(int node, int other) {
        return paths.path(node, other).exists() && paths.path(other, node).exists();
    }

    /** Searches channels through the ranks that represent shared GPUs and groups of equal ranks. */
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
        // The search result already respects the bandwidth of GPU memory.
        return gpus.any()
                ? graph.through(gpus.expand(graph.orders(), graph.crossNic()), Double.POSITIVE_INFINITY)
                : graph;
    }

    private boolean shares(int node) {
        return gpus.shares(Topology.rankOf(topology.node(node)));
    }

    /** Returns the number of steps that the last search took. */
    public long steps() {
        return steps;
    }

    /** Returns the largest number of steps that the search of one pattern takes. */
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
