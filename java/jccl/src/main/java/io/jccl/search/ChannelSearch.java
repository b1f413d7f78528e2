package io.jccl.search;

import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Finds channels by locality: a chain from neighbour to nearest neighbour, so that ranks of one NUMA node follow each
 * other and each link between NUMA nodes is crossed as seldom as possible. All channels use this one order; where
 * networks take part, each is rotated to begin beside its network device. The bandwidth is what the busiest link leaves
 * to each channel, so that what is claimed can be carried.
 */
public final class ChannelSearch {

    private final Topology topology;
    private final NodePaths paths;
    private final SearchOptions options;

    /** A search on one machine. */
    public ChannelSearch(NodePaths paths, SearchOptions options) {
        this.topology = paths.topology();
        this.paths = paths;
        this.options = options;
    }

    /**
     * Channels of one pattern through all endpoints of the machine.
     *
     * @throws IllegalArgumentException if no rank lives on this machine, or two cannot reach each other
     */
    public ChannelGraph search(Pattern pattern) {
        List<Integer> chain = chain();
        List<Integer> nets = options.networks() ? netsByDistance(chain) : List.of();
        int channels = options.channels();
        List<List<Integer>> orders = new ArrayList<>();
        List<ChannelGraph.Nets> devices = new ArrayList<>();
        LinkLoad intra = new LinkLoad(topology);
        LinkLoad inter = new LinkLoad(topology);
        PathType typeIntra = PathType.LOC;
        PathType typeInter = PathType.LOC;
        for (int channel = 0; channel < channels; channel++) {
            List<Integer> order = new ArrayList<>(chain);
            if (!nets.isEmpty()) {
                int net = nets.get(channel % nets.size());
                rotateTo(order, net);
                devices.add(new ChannelGraph.Nets(net(net), net(net)));
                typeInter = typeInter.atLeast(loadNetwork(inter, pattern, order, net));
            }
            typeIntra = typeIntra.atLeast(loadRanks(intra, pattern, order, nets.isEmpty()));
            orders.add(order.stream()
                    .map(node -> Topology.rankOf(topology.node(node)))
                    .toList());
        }
        double bwIntra = chain.size() == 1 ? LinkSpeeds.LOCAL_GBPS / channels : intra.share();
        double bwInter = nets.isEmpty() ? bwIntra : inter.share();
        return new ChannelGraph(
                pattern,
                bwIntra,
                bwInter,
                typeIntra,
                nets.isEmpty() ? PathType.PIX : typeInter,
                false,
                orders,
                devices);
    }

    private int net(int node) {
        return ((Node.Net) topology.node(node)).dev();
    }

    /** From the lowest rank on, each time the nearest endpoint that is left; ties go to the lower rank. */
    private List<Integer> chain() {
        List<Integer> left = new ArrayList<>(topology.endpoints());
        if (left.isEmpty()) {
            throw new IllegalArgumentException(
                    "endpoints=0: no rank lives on this machine; give gpu elements a rank, or" + " add host elements");
        }
        List<Integer> chain = new ArrayList<>();
        int at = left.remove(0);
        chain.add(at);
        while (!left.isEmpty()) {
            int best = left.get(0);
            for (int candidate : left) {
                if (NodePaths.closer(paths.path(at, candidate), paths.path(at, best))) {
                    best = candidate;
                }
            }
            if (!paths.path(at, best).exists()) {
                throw new IllegalArgumentException("from=" + topology.node(at).name() + " to="
                        + topology.node(best).name() + ": no path; trim the topology to what a rank can reach");
            }
            left.remove(Integer.valueOf(best));
            chain.add(best);
            at = best;
        }
        return chain;
    }

    /** The network devices that are as near to some rank as any is, those first that the first ranks are nearest to. */
    private List<Integer> netsByDistance(List<Integer> chain) {
        List<Integer> nets = new ArrayList<>();
        NodePath nearest = null;
        for (int endpoint : chain) {
            int net = paths.nearest(endpoint, NodeType.NET);
            if (net >= 0 && (nearest == null || NodePaths.closer(paths.path(endpoint, net), nearest))) {
                nearest = paths.path(endpoint, net);
            }
        }
        if (nearest == null) {
            return nets;
        }
        for (int endpoint : chain) {
            for (int net : topology.indexesOf(NodeType.NET)) {
                NodePath path = paths.path(endpoint, net);
                boolean asNear = path.type() == nearest.type() && path.bandwidthGBps() >= nearest.bandwidthGBps();
                if (asNear && !nets.contains(net)) {
                    nets.add(net);
                }
            }
        }
        return nets;
    }

    private void rotateTo(List<Integer> order, int net) {
        int best = 0;
        for (int place = 1; place < order.size(); place++) {
            if (NodePaths.closer(paths.path(order.get(place), net), paths.path(order.get(best), net))) {
                best = place;
            }
        }
        Collections.rotate(order, -best);
    }

    /** Data comes in at the first rank; a ring leaves at the last, a tree at the first or second. */
    private PathType loadNetwork(LinkLoad load, Pattern pattern, List<Integer> order, int net) {
        int last = order.size() - 1;
        int out =
                switch (pattern) {
                    case RING -> last;
                    case TREE -> 0;
                    case SPLIT_TREE, BALANCED_TREE -> Math.min(1, last);
                };
        NodePath in = paths.path(net, order.get(0));
        NodePath leave = paths.path(order.get(out), net);
        load.add(in);
        load.add(leave);
        return in.type().atLeast(leave.type());
    }

    private PathType loadRanks(LinkLoad load, Pattern pattern, List<Integer> order, boolean closed) {
        PathType farthest = PathType.LOC;
        boolean ring = pattern == Pattern.RING && closed;
        for (int place = 0; place < order.size(); place++) {
            boolean wraps = place + 1 == order.size();
            if (order.size() < 2 || wraps && !ring) {
                break;
            }
            int from = order.get(place);
            int to = order.get((place + 1) % order.size());
            load.add(paths.path(from, to));
            if (pattern != Pattern.RING) {
                load.add(paths.path(to, from));
            }
            farthest = farthest.atLeast(paths.path(from, to).type());
        }
        return farthest;
    }
}
