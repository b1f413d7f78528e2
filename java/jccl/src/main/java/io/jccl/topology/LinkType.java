package io.jccl.topology;

/** The technology of a link. */
public enum LinkType {
    /** Inside one device: between two PCI switches of one chip, or between ranks on one GPU. */
    LOC,
    /** NVLink. */
    NVL,
    /** NVLink chip-to-chip (C2C), between a GPU and its CPU. */
    C2C,
    /** PCI Express. */
    PCI,
    /** Between the endpoint of a rank on the host and the memory of its NUMA node. */
    MEM,
    /** Between the NUMA nodes of a host. */
    SYS,
    /** From a network card to its network. */
    NET
}
