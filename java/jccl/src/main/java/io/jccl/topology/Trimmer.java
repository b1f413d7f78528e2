package io.jccl.topology;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Removes the nodes of a host that the communicator does not use. */
public final class Trimmer {

    private Trimmer() {}

    /**
     * Returns the part of a host that the endpoints of local ranks can reach.
     *
     * <p>Removes GPUs that no rank owns, networks if {@code networks} is false or no rank reaches them, and bridges and
     * cards that lead to nothing else. Also removes endpoints that the rank's endpoint cannot reach, not even through
     * others, because containers keep them apart. Keeps endpoints that the rank can reach, even if the network is
     * faster than the path inside the host.
     *
     * @param rank the rank whose view this is
     * @param networks whether other hosts take part
     */
    public static Topology trim(NodePaths paths, int rank, boolean networks) {
        Topology topology = paths.topology();
        Set<Integer> kept = reachedFrom(paths, endpointOf(topology, rank));
        boolean[] keep = new boolean[topology.size()];
        for (int node = 0; node < keep.length; node++) {
            keep[node] = switch (topology.node(node).type()) {
                case GPU, HOST -> kept.contains(node);
                case NET -> networks && isReached(paths, kept, node);
                case CPU, NVS, PCI, NIC -> true;
            };
        }
        dropDeadEnds(topology, keep);
        return topology.keep(keep);
    }

    private static boolean isReached(NodePaths paths, Set<Integer> ends, int node) {
        for (int end : ends) {
            if (paths.path(end, node).exists()) {
                return true;
            }
        }
        return false;
    }

    private static int endpointOf(Topology topology, int rank) {
        for (int node : topology.endpoints()) {
            if (Topology.rankOf(topology.node(node)) == rank) {
                return node;
            }
        }
        throw new IllegalArgumentException("rank=" + rank + ": no endpoint of it in this topology");
    }

    /**
     * Returns the endpoints that an endpoint reaches directly or through others. Indirect reach counts, because all
     * remaining ranks must agree on the set of remaining ranks.
     */
    private static Set<Integer> reachedFrom(NodePaths paths, int self) {
        Set<Integer> reached = new HashSet<>(Set.of(self));
        Set<Integer> others = new LinkedHashSet<>(paths.topology().endpoints());
        others.remove(self);
        Deque<Integer> queue = new ArrayDeque<>(List.of(self));
        while (!queue.isEmpty() && !others.isEmpty()) {
            int node = queue.remove();
            List<Integer> linked = new ArrayList<>();
            for (int other : others) {
                if (paths.path(node, other).exists() || paths.path(other, node).exists()) {
                    linked.add(other);
                }
            }
            others.removeAll(linked);
            reached.addAll(linked);
            queue.addAll(linked);
        }
        return reached;
    }

    /**
     * Removes bridges and cards with fewer than two remaining neighbours, because they lead nowhere. Each removal can
     * isolate the next one.
     */
    private static void dropDeadEnds(Topology topology, boolean[] keep) {
        boolean changed = true;
        while (changed) {
            changed = false;
            for (int node = 0; node < keep.length; node++) {
                NodeType type = topology.node(node).type();
                boolean between = type == NodeType.PCI || type == NodeType.NIC || type == NodeType.NVS;
                if (keep[node] && between && keptNeighbours(topology, keep, node) < 2) {
                    keep[node] = false;
                    changed = true;
                }
            }
        }
    }

    private static long keptNeighbours(Topology topology, boolean[] keep, int node) {
        long neighbours = 0;
        for (Link link : topology.links(node)) {
            neighbours += keep[link.to()] ? 1 : 0;
        }
        return neighbours;
    }
}
