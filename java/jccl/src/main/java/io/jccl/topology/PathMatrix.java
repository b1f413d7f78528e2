package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The paths between all ends of a topology while they are being decided: GPU, HOST, NET and CPU nodes. */
final class PathMatrix {

    private final Topology topology;
    private final List<Integer> ends = new ArrayList<>();
    private final int[] place;
    /**
     * By place of the source. Most are asked for few or none of their paths, so each row is found when it is first
     * read.
     */
    private final AtomicReferenceArray<NodePath[]> paths;

    /** The paths that lead through no rank. */
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
            row = paths.get(end); // threads that read at the same time find the same
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

    /** Only before the paths are shared. */
    void set(NodePath path) {
        from(place[path.from()])[place[path.to()]] = path;
    }

    /** The same path under another type. */
    void retype(NodePath path, PathType type) {
        if (path.type() != type) {
            set(new NodePath(path.from(), path.to(), type, path.bandwidthGBps(), path.via()));
        }
    }

    /** The path from one node to another through a third. */
    NodePath through(int from, int between, int to, PathType type) {
        NodePath first = get(from, between);
        NodePath second = get(between, to);
        List<Integer> via = new ArrayList<>(first.via());
        via.addAll(second.via());
        return new NodePath(from, to, type, Math.min(first.bandwidthGBps(), second.bandwidthGBps()), via);
    }

    /** Sends what goes from one node to another through the memory of a CPU. */
    void divert(int from, int cpu, int to) {
        if (get(from, cpu).exists() && get(cpu, to).exists()) {
            PathType type = PathType.joined(get(from, cpu).type(), get(cpu, to).type());
            set(through(from, cpu, to, type));
        }
    }

    /** The CPU with the fewest links to a node, or -1 where none is reached. */
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

    /** The nodes of one type that are reached with the highest bandwidth, and of these the nearest. */
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
