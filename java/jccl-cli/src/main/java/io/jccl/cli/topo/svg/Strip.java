package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.Wire;

/**
 * A horizontal area along which routes run: the box of a node, or the horizontal segment of a link.
 *
 * @param id the node's name; for a segment, a name that no node has
 * @param kind kind of the area
 * @param wire the link to which a segment belongs; null for the box of a node
 * @param level for a segment above a row of boxes, the number of that row; else -1
 */
record Strip(String id, Kind kind, Wire wire, int level) {

    enum Kind {
        /** The box of a node. */
        NODE,
        /** The horizontal segment of one link, above the boxes of a row. */
        ABOVE,
        /** The horizontal segment of one link, below everything. */
        BELOW,
        /** The links between all pairs of NUMA nodes, drawn as one. */
        BUS
    }

    boolean isNode() {
        return kind == Kind.NODE;
    }
}
