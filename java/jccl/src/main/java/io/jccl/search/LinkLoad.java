package io.jccl.search;

import io.jccl.topology.Link;
import io.jccl.topology.NodePath;
import io.jccl.topology.Topology;
import java.util.HashMap;
import java.util.Map;

/** How often the channels use each directed link, and what bandwidth that leaves to each use. */
final class LinkLoad {

    private record Edge(int from, int to) {}

    private final Topology topology;
    private final Map<Edge, Integer> uses = new HashMap<>();

    LinkLoad(Topology topology) {
        this.topology = topology;
    }

    void add(NodePath path) {
        int at = path.from();
        for (int next : path.via()) {
            uses.merge(new Edge(at, next), 1, Integer::sum);
            at = next;
        }
    }

    /** What the busiest link leaves to each of its uses; no use at all is not a bound. */
    double share() {
        double least = Double.POSITIVE_INFINITY;
        for (Map.Entry<Edge, Integer> use : uses.entrySet()) {
            least = Math.min(least, bandwidth(use.getKey()) / use.getValue());
        }
        return least;
    }

    private double bandwidth(Edge edge) {
        double widest = 0;
        for (Link link : topology.links(edge.from)) {
            if (link.to() == edge.to) {
                widest = Math.max(widest, link.bandwidthGBps());
            }
        }
        return widest;
    }
}
