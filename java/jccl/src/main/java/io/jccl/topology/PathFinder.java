package io.jccl.topology;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Finds the best paths from one node: the widest; of these, those with the fewest links; of these, the nearest type.
 *
 * <p>First computes the width of the widest path to every node. Then runs a breadth-first search for every width that
 * occurs, over links of at least this width. One search for all widths would not suffice: the shortest of the widest
 * paths to a node need not extend the shortest of the widest paths to the node before it.
 *
 * <p>Ranks and networks are only ends of these paths. {@link NeighbourPaths} and {@link NetworkPaths} add the paths
 * that lead through a rank.
 */
final class PathFinder {

    /** A reached node; the widest sorts first. */
    private record Reached(int node, double width) implements Comparable<Reached> {

        @Override
        public int compareTo(Reached other) {
            return Double.compare(other.width, width);
        }
    }

    private final Topology topology;
    private final int source;
    private final double[] width;

    private final int[] hops;
    private final int[] previous;
    private final PathType[] type;

    PathFinder(Topology topology, int source) {
        this.topology = topology;
        this.source = source;
        int size = topology.size();
        this.width = new double[size];
        this.hops = new int[size];
        this.previous = new int[size];
        this.type = new PathType[size];
        widen();
    }

    /** Returns the paths to all targets, in the order of the targets. */
    NodePath[] to(List<Integer> targets) {
        NodePath[] paths = new NodePath[targets.size()];
        Set<Double> widths = new LinkedHashSet<>();
        for (int target : targets) {
            widths.add(width[target]);
        }
        for (double threshold : widths) {
            if (threshold > 0) {
                search(threshold);
            }
            for (int i = 0; i < paths.length; i++) {
                if (width[targets.get(i)] == threshold) {
                    paths[i] = threshold > 0 ? path(targets.get(i)) : NodePath.none(source, targets.get(i));
                }
            }
        }
        return paths;
    }

    private boolean passable(int node) {
        return node == source
                || switch (topology.node(node).type()) {
                    case PCI, NVS, CPU, NIC -> true;
                    case GPU, NET, HOST -> false;
                };
    }

    /**
     * Computes the width of the widest path to every node, by Dijkstra's algorithm with the narrowest link instead of
     * the sum.
     */
    private void widen() {
        width[source] = LinkSpeeds.LOCAL_GBPS;
        PriorityQueue<Reached> queue = new PriorityQueue<>();
        queue.add(new Reached(source, width[source]));
        while (!queue.isEmpty()) {
            Reached next = queue.remove();
            if (next.width < width[next.node] || !passable(next.node)) {
                continue;
            }
            for (Link link : topology.links(next.node)) {
                double reached = Math.min(next.width, link.bandwidthGBps());
                if (reached > width[link.to()]) {
                    width[link.to()] = reached;
                    queue.add(new Reached(link.to(), reached));
                }
            }
        }
    }

    private void search(double threshold) {
        Arrays.fill(hops, Integer.MAX_VALUE);
        hops[source] = 0;
        type[source] = PathType.LOC;
        Deque<Integer> queue = new ArrayDeque<>();
        queue.add(source);
        while (!queue.isEmpty()) {
            int node = queue.remove();
            if (!passable(node)) {
                continue;
            }
            for (Link link : topology.links(node)) {
                int to = link.to();
                if (link.bandwidthGBps() < threshold || hops[to] <= hops[node]) {
                    continue;
                }
                PathType reached = extend(node, link);
                if (hops[to] == Integer.MAX_VALUE) {
                    queue.add(to);
                } else if (type[to].compareTo(reached) <= 0) {
                    continue;
                }
                hops[to] = hops[node] + 1;
                previous[to] = node;
                type[to] = reached;
            }
        }
    }

    private PathType extend(int node, Link link) {
        NodeType one = topology.node(node).type();
        NodeType other = topology.node(link.to()).type();
        PathType step =
                switch (link.type()) {
                    case NVL -> PathType.NVL;
                    case C2C -> PathType.C2C;
                    case SYS -> PathType.SYS;
                    case MEM -> PathType.PHB;
                    case NET -> PathType.LOC;
                    case LOC -> one == NodeType.PCI && other == NodeType.PCI ? PathType.PXB : PathType.LOC;
                    case PCI -> {
                        if (one == NodeType.CPU || other == NodeType.CPU) {
                            yield PathType.PHB;
                        }
                        yield one == NodeType.PCI && other == NodeType.PCI ? PathType.PXB : PathType.PIX;
                    }
                };
        return type[node].max(step);
    }

    private NodePath path(int target) {
        List<Integer> via = new ArrayList<>();
        for (int at = target; at != source; at = previous[at]) {
            via.add(at);
        }
        Collections.reverse(via);
        return new NodePath(source, target, type[target], width[target], via);
    }
}
