package io.jccl.topology;

/** How far apart two nodes are, the nearest first. */
public enum PathType {
    /** The same node, or another rank on the same GPU. */
    LOC,
    /** NVLink only. */
    NVL,
    /** NVLink through a neighbouring GPU. */
    NVB,
    /** The chip-to-chip link of GPU and CPU. */
    C2C,
    /** One PCI switch at most. */
    PIX,
    /** Several PCI switches, but no CPU. */
    PXB,
    /** From a GPU to a network card through the chip-to-chip link and the CPU. */
    P2C,
    /** From a GPU to a network card through another GPU beside that card. */
    PXN,
    /** Through a CPU. */
    PHB,
    /** Through the link between NUMA nodes. */
    SYS,
    /** The network is faster than the path inside the host, which is given nevertheless. */
    NET,
    /** No path. */
    DIS;

    /**
     * The type of a path that is made of two, one to a CPU and one on from it: the farther of the two, but what comes
     * over a chip-to-chip link and goes on to a device behind the same CPU is nearer than what crosses that CPU from
     * PCI to PCI.
     */
    static PathType joined(PathType first, PathType second) {
        boolean chipToDevice = first == C2C && second == PHB || first == PHB && second == C2C;
        return chipToDevice ? P2C : first.max(second);
    }

    /** The farther of two. */
    public PathType max(PathType other) {
        return compareTo(other) >= 0 ? this : other;
    }
}
