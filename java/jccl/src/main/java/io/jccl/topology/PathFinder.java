package io.jccl.topology;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;

/**
 * Finds the best ways from one node: the widest, of these those with the fewest links, of these the nearest type.
 *
 * <p>First the width of the widest way to every node; then, for every width that occurs, a breadth-first search that
 * uses no narrower link. That is complete: the shortest of the widest ways need not extend the shortest of the widest
 * ways to the node before.
 *
 * <p>Ranks and networks are ends of a way, never between.
 */
final class PathFinder {

    private final Topology topology;
    private final int source;
    private final double[] width;

    private final int[] hops;
    private final int[] previous;
    private final PathType[] type;
    private final boolean[] chipToChip;

    PathFinder(Topology topology, int source) {
        this.topology = topology;
        this.source = source;
        int size = topology.size();
        this.width = new double[size];
        this.hops = new int[size];
        this.previous = new int[size];
        this.type = new PathType[size];
        this.chipToChip = new boolean[size];
        widen();
    }

    /** The paths to all targets, in their order. */
    List<NodePath> to(List<Integer> targets) {
        NodePath[] paths = new NodePath[targets.size()];
        double[] widths =
                targets.stream().mapToDouble(target -> width[target]).distinct().toArray();
        for (double threshold : widths) {
            if (threshold > 0) {
                search(threshold);
            }
            for (int i = 0; i < paths.length; i++) {
                if (width[targets.get(i)] == threshold) {
                    paths[i] = threshold > 0 ? path(targets.get(i)) : none(targets.get(i));
                }
            }
        }
        return List.of(paths);
    }

    private boolean passable(int node) {
        return node == source
                || switch (topology.node(node).type()) {
                    case PCI, NVS, CPU, NIC -> true;
                    case GPU, NET, HOST -> false;
                };
    }

    /** Widest ways first, as in Dijkstra's algorithm with the narrowest link in the place of the sum. */
    private void widen() {
        width[source] = LinkSpeeds.LOCAL_GBPS;
        boolean[] settled = new boolean[width.length];
        for (int round = 0; round < width.length; round++) {
            int next = -1;
            for (int node = 0; node < width.length; node++) {
                if (!settled[node] && width[node] > 0 && (next < 0 || width[node] > width[next])) {
                    next = node;
                }
            }
            if (next < 0) {
                return;
            }
            settled[next] = true;
            if (passable(next)) {
                for (Link link : topology.links(next)) {
                    width[link.to()] = Math.max(width[link.to()], Math.min(width[next], link.bandwidthGBps()));
                }
            }
        }
    }

    private void search(double threshold) {
        Arrays.fill(hops, Integer.MAX_VALUE);
        hops[source] = 0;
        type[source] = PathType.LOC;
        chipToChip[source] = false;
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
                chipToChip[to] = chipToChip[node] || link.type() == LinkType.C2C;
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
                            // A card that a GPU reaches through its chip-to-chip link is nearer than one behind PCI.
                            boolean nearCard = chipToChip[node] && type[node] == PathType.C2C;
                            yield nearCard ? PathType.P2C : PathType.PHB;
                        }
                        yield one == NodeType.PCI && other == NodeType.PCI ? PathType.PXB : PathType.PIX;
                    }
                };
        if (link.type() == LinkType.C2C && type[node] == PathType.PHB) {
            return PathType.P2C;
        }
        return type[node].atLeast(step);
    }

    private NodePath path(int target) {
        List<Integer> via = new ArrayList<>();
        for (int at = target; at != source; at = previous[at]) {
            via.add(at);
        }
        Collections.reverse(via);
        return new NodePath(source, target, type[target], width[target], via);
    }

    private NodePath none(int target) {
        return new NodePath(source, target, PathType.DIS, 0, List.of());
    }
}
