package io.jccl.topology;

/** The type of a path, from the nearest to the farthest. */
public enum PathType {
    /** To the same node, or to another rank on the same GPU. */
    LOC,
    /** Only NVLinks. */
    NVL,
    /** Two NVLinks with a neighbouring GPU between them. */
    NVB,
    /** The chip-to-chip link between a GPU and its CPU. */
    C2C,
    /** At most one PCI switch. */
    PIX,
    /** Several PCI switches, but no CPU. */
    PXB,
    /** From a GPU to a network card through the chip-to-chip link and the CPU. */
    P2C,
    /** From a GPU to a network card through another GPU that is next to the card. */
    PXN,
    /** Through a CPU. */
    PHB,
    /** Through the link between NUMA nodes. */
    SYS,
    /**
     * The network is faster than the path inside the host. The path's bandwidth and nodes are still those inside the
     * host.
     */
    NET,
    /** No path. */
    DIS;

    /**
     * Returns the type of a path that consists of a path to a CPU and a path from that CPU. It is the farther of the
     * two types, with one exception: a path from a chip-to-chip link to a device behind the same CPU is P2C. Such a
     * path is nearer than one that crosses the CPU from PCI to PCI.
     */
    static PathType joined(PathType first, PathType second) {
        boolean chipToDevice = first == C2C && second == PHB || first == PHB && second == C2C;
        return chipToDevice ? P2C : first.max(second);
    }

    /** Returns the farther of two types. */
    public PathType max(PathType other) {
        return compareTo(other) >= 0 ? this : other;
    }
}
