package io.jccl.topology;

import java.util.List;

/**
 * The best path from one node to another.
 *
 * @param from index of the node it starts at
 * @param to index of the node it ends at
 * @param type how far apart the two are
 * @param bandwidthGBps the bandwidth of its narrowest link
 * @param via indexes of the nodes it visits after the first, ending with {@code to}; empty for a node to itself
 */
public record NodePath(int from, int to, PathType type, double bandwidthGBps, List<Integer> via) {

    /** Takes a copy of {@code via}. */
    public NodePath {
        via = List.copyOf(via);
    }

    /** No path from one node to another. */
    static NodePath none(int from, int to) {
        return new NodePath(from, to, PathType.DIS, 0, List.of());
    }

    /** The number of links. */
    public int hops() {
        return via.size();
    }

    /** Whether there is a path at all. */
    public boolean exists() {
        return type != PathType.DIS;
    }
}
