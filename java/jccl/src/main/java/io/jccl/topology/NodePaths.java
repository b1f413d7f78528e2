package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The best ways between all nodes where ranks live, all networks and all CPUs of a machine. Immutable.
 */
public final class NodePaths {

    private final Topology topology;
    private final int[] place;
    private final List<List<NodePath>> bySource;

    private NodePaths(Topology topology, int[] place, List<List<NodePath>> bySource) {
        this.topology = topology;
        this.place = place;
        this.bySource = bySource;
    }

    /** Finds all paths. */
    public static NodePaths compute(Topology topology) {
        List<Integer> ends = new ArrayList<>();
        int[] place = new int[topology.size()];
        Arrays.fill(place, -1);
        for (int node = 0; node < topology.size(); node++) {
            switch (topology.node(node).type()) {
                case GPU, HOST, NET, CPU -> {
                    place[node] = ends.size();
                    ends.add(node);
                }
                case PCI, NVS, NIC -> {}
            }
        }
        List<List<NodePath>> bySource = new ArrayList<>();
        for (int source : ends) {
            bySource.add(new PathFinder(topology, source).to(ends));
        }
        return new NodePaths(topology, place, bySource);
    }

    /** The topology whose paths these are. */
    public Topology topology() {
        return topology;
    }

    /** The path between two GPU, HOST, NET or CPU nodes, given by index; of type DIS where there is none. */
    public NodePath path(int from, int to) {
        if (place[from] < 0 || place[to] < 0) {
            throw new IllegalArgumentException("from=" + topology.node(from).name() + " to="
                    + topology.node(to).name() + ": expected GPU, HOST, NET or CPU nodes");
        }
        return bySource.get(place[from]).get(place[to]);
    }

    /** The node of one type that is best reached from a node: nearest type, then widest, then lowest index; or -1. */
    public int nearest(int from, NodeType type) {
        int best = -1;
        for (int node : topology.indexesOf(type)) {
            if (path(from, node).exists() && (best < 0 || closer(path(from, node), path(from, best)))) {
                best = node;
            }
        }
        return best;
    }

    /** Whether one path is better than another: nearer, then wider, then shorter. */
    public static boolean closer(NodePath one, NodePath other) {
        int byType = one.type().compareTo(other.type());
        if (byType != 0) {
            return byType < 0;
        }
        int byWidth = Double.compare(one.bandwidthGBps(), other.bandwidthGBps());
        return byWidth != 0 ? byWidth > 0 : one.hops() < other.hops();
    }
}
