package io.jccl.topology;

import java.util.List;

/**
 * The best path from one node to another.
 *
 * @param from index of the first node
 * @param to index of the last node
 * @param type the distance between the two nodes
 * @param bandwidthGBps the bandwidth of its narrowest link in GB/s
 * @param via indexes of the nodes after the first, ending with {@code to}; empty for a path from a node to itself
 */
public record NodePath(int from, int to, PathType type, double bandwidthGBps, List<Integer> via) {

    public NodePath {
        via = List.copyOf(via);
    }

    /** Returns a value that means that there is no path between two nodes. */
    static NodePath none(int from, int to) {
        return new NodePath(from, to, PathType.DIS, 0, List.of());
    }

    /** Returns the number of links. */
    public int hops() {
        return via.size();
    }

    /** Returns true if there is a path. */
    public boolean exists() {
        return type != PathType.DIS;
    }
}
