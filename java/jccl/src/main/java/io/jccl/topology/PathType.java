package io.jccl.topology;

/** How far apart two nodes are, the nearest first. */
public enum PathType {
    /** The same node. */
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
    /** Through the network. */
    NET,
    /** No path. */
    DIS;

    /** The farther of two. */
    public PathType atLeast(PathType other) {
        return compareTo(other) >= 0 ? this : other;
    }
}
