package io.jccl.topology;

import java.util.List;

/**
 * Adds paths from a GPU that consist of an NVLink to a neighbouring GPU and a link of that neighbour. They lead to a
 * GPU without an NVLink to the starting GPU, or to a CPU that the starting GPU reaches only through other nodes.
 */
final class NeighbourPaths {

    /** Number of links of a path through a neighbour. A CPU that is nearer than this needs no neighbour. */
    private static final int LINKS = 2;

    private final PathMatrix paths;
    private final Topology topology;

    private NeighbourPaths(PathMatrix paths) {
        this.paths = paths;
        this.topology = paths.topology();
    }

    /** Replaces each path by one through a neighbour if that is wider, or as wide and shorter. */
    static void add(PathMatrix paths) {
        NeighbourPaths neighbours = new NeighbourPaths(paths);
        for (int gpu : neighbours.topology.indexesOf(NodeType.GPU)) {
            neighbours.topology.indexesOf(NodeType.GPU).forEach(to -> neighbours.improve(gpu, to));
            neighbours.topology.indexesOf(NodeType.CPU).forEach(to -> neighbours.improve(gpu, to));
        }
    }

    private void improve(int gpu, int to) {
        NodePath own = paths.get(gpu, to);
        boolean ownNvLink = own.type().compareTo(PathType.NVL) <= 0;
        if (ownNvLink || own.exists() && own.hops() < LINKS) {
            return;
        }
        NodePath best = own;
        for (Link back : topology.links(to)) {
            int neighbour = back.to();
            boolean barred = topology.barred(gpu, neighbour) || topology.barred(neighbour, to);
            if (neighbour != gpu && !barred && Topology.isGpuOfRank(topology.node(neighbour))) {
                double width = nvLinkWidth(gpu, neighbour);
                for (Link last : topology.links(neighbour)) {
                    if (width > 0 && last.to() == to && last.type() == back.type()) {
                        best = better(best, path(gpu, neighbour, last, Math.min(width, last.bandwidthGBps())));
                    }
                }
            }
        }
        if (best != own) {
            paths.set(best);
        }
    }

    private double nvLinkWidth(int from, int to) {
        for (Link link : topology.links(from)) {
            if (link.to() == to && link.type() == LinkType.NVL) {
                return link.bandwidthGBps();
            }
        }
        return 0;
    }

    private static NodePath path(int gpu, int neighbour, Link last, double width) {
        PathType type =
                switch (last.type()) {
                    case NVL, LOC -> PathType.NVB;
                    case C2C -> PathType.C2C;
                    case PCI, MEM -> PathType.PHB;
                    case SYS, NET -> throw new IllegalStateException("a GPU with a link of type=" + last.type());
                };
        return new NodePath(gpu, last.to(), type, width, List.of(neighbour, last.to()));
    }

    private static NodePath better(NodePath known, NodePath other) {
        if (other.bandwidthGBps() != known.bandwidthGBps()) {
            return other.bandwidthGBps() > known.bandwidthGBps() ? other : known;
        }
        return other.hops() < known.hops() ? other : known;
    }
}
