package io.jccl.topology;

/** What a link is made of. */
public enum LinkType {
    /** Inside one device: two PCI switches that are one. */
    LOC,
    /** NVLink. */
    NVL,
    /** Chip to chip, between a GPU and its CPU. */
    C2C,
    /** PCI Express. */
    PCI,
    /** The memory of a NUMA node, as a rank on the host sees it. */
    MEM,
    /** Between the NUMA nodes of a host. */
    SYS,
    /** From a network card to its network. */
    NET
}
