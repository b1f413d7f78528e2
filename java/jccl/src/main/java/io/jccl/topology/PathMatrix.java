package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Holds the paths between all GPU, HOST, NET and CPU nodes of a topology while rules still change them. */
final class PathMatrix {

    private final Topology topology;
    private final List<Integer> ends = new ArrayList<>();
    private final int[] place;
    /**
     * Paths by the place of their source. A row is computed when it is first read, because few or no paths of most
     * sources are needed.
     */
    private final AtomicReferenceArray<NodePath[]> paths;

    /** Starts with the best paths that lead through no rank. */
    PathMatrix(Topology topology) {
        this.topology = topology;
        this.place = new int[topology.size()];
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
        this.paths = new AtomicReferenceArray<>(ends.size());
    }

    private NodePath[] from(int end) {
        NodePath[] row = paths.get(end);
        if (row == null) {
            paths.compareAndSet(end, null, new PathFinder(topology, ends.get(end)).to(ends));
            row = paths.get(end); // concurrent readers compute equal rows
        }
        return row;
    }

    Topology topology() {
        return topology;
    }

    NodePath get(int from, int to) {
        if (place[from] < 0 || place[to] < 0) {
            throw new IllegalArgumentException("from=" + topology.node(from).name() + " to="
                    + topology.node(to).name() + ": expected GPU, HOST, NET or CPU nodes");
        }
        return from(place[from])[place[to]];
    }

    /** Sets a path. Must be called before other threads can read the paths. */
    void set(NodePath path) {
        from(place[path.from()])[place[path.to()]] = path;
    }

    /** Changes the type of a path. */
    void retype(NodePath path, PathType type) {
        if (path.type() != type) {
            set(new NodePath(path.from(), path.to(), type, path.bandwidthGBps(), path.via()));
        }
    }

    /** Returns the path from one node to another through a third. */
    NodePath through(int from, int between, int to, PathType type) {
        NodePath first = get(from, between);
        NodePath second = get(between, to);
        List<Integer> via = new ArrayList<>(first.via());
        via.addAll(second.via());
        return new NodePath(from, to, type, Math.min(first.bandwidthGBps(), second.bandwidthGBps()), via);
    }

    /**
     * Changes a path so that it leads through the memory of a CPU; leaves it unchanged if there is no path to or from
     * that CPU.
     */
    void divert(int from, int cpu, int to) {
        if (get(from, cpu).exists() && get(cpu, to).exists()) {
            PathType type = PathType.joined(get(from, cpu).type(), get(cpu, to).type());
            set(through(from, cpu, to, type));
        }
    }

    /** Returns the CPU with the fewest links to a node, or -1 if the node reaches none. */
    int nearestCpu(int node) {
        int nearest = -1;
        for (int cpu : topology.indexesOf(NodeType.CPU)) {
            NodePath path = get(node, cpu);
            if (path.exists()
                    && (nearest < 0 || path.hops() < get(node, nearest).hops())) {
                nearest = cpu;
            }
        }
        return nearest;
    }

    /** Returns the nodes of one type that are reached with the highest bandwidth, and of these the nearest. */
    List<Integer> locals(int node, NodeType type) {
        List<Integer> best = new ArrayList<>();
        for (int candidate : topology.indexesOf(type)) {
            NodePath path = get(node, candidate);
            int order = best.isEmpty() ? 1 : compareLocality(path, get(node, best.get(0)));
            if (!path.exists() || order < 0) {
                continue;
            }
            if (order > 0) {
                best.clear();
            }
            best.add(candidate);
        }
        return best;
    }

    private static int compareLocality(NodePath one, NodePath other) {
        int byWidth = Double.compare(one.bandwidthGBps(), other.bandwidthGBps());
        return byWidth != 0 ? byWidth : other.type().compareTo(one.type());
    }
}
