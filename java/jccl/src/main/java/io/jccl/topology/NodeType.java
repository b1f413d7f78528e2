package io.jccl.topology;

/** What a node of the graph stands for. */
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

    /** Whether ranks live here. */
    public boolean isEndpoint() {
        return this == GPU || this == HOST;
    }
}
