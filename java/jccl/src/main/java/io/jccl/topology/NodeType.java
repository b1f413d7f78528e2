package io.jccl.topology;

/** The type of hardware that a node of the graph represents. */
public enum NodeType {
    /** A GPU: the endpoint of a rank. */
    GPU,
    /** A PCI bridge or switch. */
    PCI,
    /** The NVLink switches of a host. */
    NVS,
    /** A NUMA node. */
    CPU,
    /** A network card. */
    NIC,
    /** A network device: one port of a card. */
    NET,
    /** Host memory as the endpoint of a rank. */
    HOST;

    /** Returns true if a node of this type can be the endpoint of a rank. */
    public boolean isEndpoint() {
        return this == GPU || this == HOST;
    }
}
