package io.jccl.search;

import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The loads that the parts of a channel put on a host's resources, by pattern. Ranks and networks are numbered by their
 * place in the given lists.
 *
 * <p>A ring loads each of its paths once. A tree is counted twice, on two copies of the resources: once with all data
 * going down, from the network and the first rank to the last, and once with all data going up. A tree that fits both
 * copies carries a reduce or a broadcast at its full bandwidth, in one direction. It carries an all-reduce at half of
 * that bandwidth, because the data goes in both directions at once. The bandwidth of a tree is therefore bus bandwidth,
 * as for rings.
 *
 * <p>A mirrored ring represents two channels: the ring, and the same ring reversed.
 */
final class Traffic {

    /**
     * Number of links that count as much as one step to a farther path type. Between paths of one type, fewer links
     * win.
     */
    private static final int HOPS_PER_TYPE = 16;

    private final int ranks;
    private final int nets;
    private final Pattern pattern;
    private final boolean mirrored;
    private final double[] gbps;
    private final int[] maxChannels;
    private final Load[][] edges;
    private final Load[][] first;
    private final Load[][] second;
    private final Load[][] last;
    private final int[][] far;

    private final NodePaths paths;
    private final Capacities capacities;
    private final List<Integer> rankNodes;
    private final List<Integer> netNodes;
    private final boolean[] forSeveral;

    /**
     * Computes the loads.
     *
     * @param rankNodes the nodes of all ranks
     * @param netNodes the network devices that may be used; empty if no networks are used
     * @param mirrored whether each ring represents two rings in opposite directions, of which each enters by the device
     *     by which the other leaves; only for rings that use networks
     * @param shares whether a node represents several ranks on one GPU; then the second rank of a tree that begins
     *     there is on the same GPU
     */
    Traffic(
            NodePaths paths,
            Capacities capacities,
            Pattern pattern,
            List<Integer> rankNodes,
            List<Integer> netNodes,
            boolean mirrored,
            IntPredicate shares) {
        this.paths = paths;
        this.capacities = capacities;
        this.pattern = pattern;
        this.rankNodes = rankNodes;
        this.netNodes = netNodes;
        this.ranks = rankNodes.size();
        this.nets = netNodes.size();
        this.mirrored = mirrored;
        this.gbps = new double[capacities.size() * (isTree() ? 2 : 1)];
        for (int i = 0; i < gbps.length; i++) {
            gbps[i] = capacities.gbps(i % capacities.size());
        }
        this.maxChannels = new int[nets];
        for (int net = 0; net < nets; net++) {
            maxChannels[net] = ((Node.Net) paths.topology().node(netNodes.get(net))).maxConnections();
        }
        this.forSeveral = new boolean[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            forSeveral[rank] = shares.test(rankNodes.get(rank));
        }
        this.edges = new Load[ranks][ranks];
        this.far = new int[ranks][ranks];
        this.first = new Load[nets][ranks];
        this.second = new Load[nets][ranks];
        this.last = new Load[nets][ranks];
        fillEdges();
        fillEnds();
    }

    private void fillEdges() {
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < ranks; to++) {
                if (from != to) {
                    NodePath path = paths.path(rankNodes.get(from), rankNodes.get(to));
                    far[from][to] = HOPS_PER_TYPE * path.type().ordinal() + path.hops();
                    Load there = down(rankNodes.get(from), rankNodes.get(to), 1);
                    edges[from][to] = isTree()
                            ? Load.both(there, up(rankNodes.get(to), rankNodes.get(from), 1))
                            : mirrored ? Load.both(there, down(rankNodes.get(to), rankNodes.get(from), 1)) : there;
                }
            }
        }
    }

    private void fillEnds() {
        for (int net = 0; net < nets; net++) {
            int netNode = netNodes.get(net);
            for (int rank = 0; rank < ranks; rank++) {
                int node = rankNodes.get(rank);
                second[net][rank] = Load.NONE;
                last[net][rank] = Load.NONE;
                switch (pattern) {
                    case RING -> {
                        Load in = down(netNode, node, 1);
                        Load out = down(node, netNode, 1);
                        first[net][rank] = mirrored ? Load.both(in, out) : in;
                        last[net][rank] = mirrored ? Load.both(in, out) : out;
                    }
                    case TREE -> first[net][rank] = Load.both(parent(netNode, node), children(netNode, node, 1));
                    case SPLIT_TREE -> {
                        first[net][rank] = forSeveral[rank]
                                ? Load.both(parent(netNode, node), children(netNode, node, 1))
                                : parent(netNode, node);
                        second[net][rank] = children(netNode, node, 1);
                    }
                    case BALANCED_TREE -> {
                        double weight = forSeveral[rank] ? 1 : 0.5;
                        first[net][rank] = Load.both(parent(netNode, node), children(netNode, node, weight));
                        second[net][rank] = children(netNode, node, 0.5);
                    }
                }
            }
        }
    }

    private Load parent(int net, int rank) {
        return Load.both(down(net, rank, 1), up(rank, net, 1));
    }

    private Load children(int net, int rank, double weight) {
        return Load.both(down(rank, net, weight), up(net, rank, weight));
    }

    private Load down(int from, int to, double weight) {
        int[] uses = capacities.uses(paths.path(from, to));
        return uses == null ? null : Load.of(uses, weight, 0);
    }

    private Load up(int from, int to, double weight) {
        int[] uses = capacities.uses(paths.path(from, to));
        return uses == null ? null : Load.of(uses, weight, capacities.size());
    }

    /** Returns, by resource number of {@link Capacities}, whether any route could use the resource. */
    boolean[] used() {
        boolean[] used = new boolean[capacities.size()];
        for (Load[][] loads : List.of(edges, first, second, last)) {
            for (Load[] row : loads) {
                for (Load load : row) {
                    for (int i = 0; load != null && i < load.resources().length; i++) {
                        used[load.resources()[i] % used.length] = true;
                    }
                }
            }
        }
        return used;
    }

    boolean isTree() {
        return pattern != Pattern.RING;
    }

    /** Returns true if the last rank sends to the first. */
    boolean closed() {
        return pattern == Pattern.RING && nets == 0 && ranks > 1;
    }

    /**
     * Returns true if each ring represents two rings in opposite directions. Then a channel may leave by another
     * network device than the one by which it enters.
     */
    boolean mirrored() {
        return mirrored;
    }

    /** Returns the number of channels that a route represents. */
    int channelsPerRoute() {
        return mirrored ? 2 : 1;
    }

    /** Returns the largest number of channels that may enter by a network device. Equally many may leave by it. */
    int maxChannels(int net) {
        return maxChannels[net];
    }

    int ranks() {
        return ranks;
    }

    int nets() {
        return nets;
    }

    /** Returns the number of resources, where a tree's two copies count separately. */
    int resources() {
        return gbps.length;
    }

    double gbps(int resource) {
        return gbps[resource];
    }

    /** Returns the load from one rank to the next; null if there is no path. */
    Load edge(int from, int to) {
        return edges[from][to];
    }

    /** Returns the load between the network and the first rank; null if there is no path. */
    Load first(int net, int rank) {
        return first[net][rank];
    }

    /**
     * Returns true if {@code rank} shares its GPU, so that the second rank of a tree that begins with {@code rank} is
     * on the same GPU. Then the load of the first rank includes that of the second.
     */
    boolean bringsSecond(int rank) {
        return forSeveral[rank];
    }

    /**
     * Returns the load between the network and the second rank of a tree; null if there is no path. Ignore the load if
     * {@link #bringsSecond} is true for the first rank.
     */
    Load second(int net, int rank) {
        return second[net][rank];
    }

    /** Returns the load between the network and the last rank of a ring; null if there is no path. */
    Load last(int net, int rank) {
        return last[net][rank];
    }

    /** Returns the distance between two ranks, which decides between routes that load the host equally. */
    int distance(int from, int to) {
        return far[from][to];
    }

    /** Returns the distance between a network and a rank, summed over both directions. */
    int netDistance(int net, int rank) {
        NodePath in = paths.path(netNodes.get(net), rankNodes.get(rank));
        NodePath out = paths.path(rankNodes.get(rank), netNodes.get(net));
        return HOPS_PER_TYPE * (in.type().ordinal() + out.type().ordinal()) + in.hops() + out.hops();
    }

    /** Returns the sum of the distances of all parts of a route. */
    int distance(Route route) {
        int[] order = route.order();
        int sum = closed() ? far[order[ranks - 1]][order[0]] : 0;
        for (int place = 1; place < ranks; place++) {
            sum += far[order[place - 1]][order[place]];
        }
        return nets == 0
                ? sum
                : sum + netDistance(route.netIn(), order[0]) + netDistance(route.netOut(), order[outPlace(order)]);
    }

    /**
     * Returns the place, in the order, of the rank that sends to other hosts; if two ranks send, the place of the
     * second.
     */
    int outPlace(int[] order) {
        return switch (pattern) {
            case RING -> order.length - 1;
            case TREE -> 0;
            case SPLIT_TREE, BALANCED_TREE -> bringsSecond(order[0]) ? 0 : Math.min(1, order.length - 1);
        };
    }

    /** Returns the loads of a route between its ranks. */
    List<Load> inside(Route route) {
        int[] order = route.order();
        List<Load> loads = new ArrayList<>(ranks);
        for (int place = 1; place < ranks; place++) {
            loads.add(edges[order[place - 1]][order[place]]);
        }
        if (closed()) {
            loads.add(edges[order[ranks - 1]][order[0]]);
        }
        return loads;
    }

    /** Returns the loads of a route between its ends and network devices. */
    List<Load> outside(Route route) {
        List<Load> loads = new ArrayList<>();
        if (nets > 0) {
            int[] order = route.order();
            loads.add(first[route.netIn()][order[0]]);
            if (!bringsSecond(order[0])) {
                loads.add(second[route.netIn()][order[Math.min(1, ranks - 1)]]);
            }
            loads.add(last[route.netOut()][order[ranks - 1]]);
        }
        return loads;
    }
}
