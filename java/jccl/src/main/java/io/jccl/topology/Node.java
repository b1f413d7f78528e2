package io.jccl.topology;

import java.util.List;

/** A node of the graph. The {@link Topology} numbers the nodes and holds their links. */
public sealed interface Node {

    /** Returns the type of hardware that this node represents. */
    NodeType type();

    /** Returns the name, which is unique on the host, for example {@code GPU/0}. */
    String name();

    /**
     * A GPU. If several ranks share a GPU, each rank has its own node.
     *
     * @param busId its PCI address
     * @param dev its number in the CUDA runtime, -1 if unknown
     * @param rank the rank that owns it, -1 if no rank does
     * @param sm its compute capability times ten, 0 if unknown
     * @param gdr whether network cards can access its memory
     * @param barredPeers the PCI addresses of GPUs whose memory it cannot use
     */
    record Gpu(String busId, int dev, int rank, int sm, boolean gdr, List<String> barredPeers) implements Node {

        public Gpu {
            barredPeers = List.copyOf(barredPeers);
        }

        /** A GPU that can use the memory of every other. */
        public Gpu(String busId, int dev, int rank, int sm, boolean gdr) {
            this(busId, dev, rank, sm, gdr, List.of());
        }

        private boolean bars(Gpu other) {
            return barredPeers.stream().anyMatch(other.busId::equalsIgnoreCase);
        }

        /**
         * Returns true if two different GPUs must not use each other's memory, because one of them lists the other in
         * its {@code barredPeers}.
         */
        boolean isBarredFrom(Gpu other) {
            return !busId.equalsIgnoreCase(other.busId) && (bars(other) || other.bars(this));
        }

        @Override
        public NodeType type() {
            return NodeType.GPU;
        }

        @Override
        public String name() {
            return rank >= 0 ? "GPU/" + rank : "DEV/" + busId;
        }
    }

    /**
     * A PCI bridge or switch.
     *
     * @param busId its PCI address
     * @param ids vendor, device and subsystem ids, separated by colons; empty if unknown
     */
    record Pci(String busId, String ids) implements Node {
        @Override
        public NodeType type() {
            return NodeType.PCI;
        }

        @Override
        public String name() {
            return "PCI/" + busId;
        }
    }

    /**
     * All NVLink switches of a host together.
     *
     * @param index its number
     */
    record Nvs(int index) implements Node {
        @Override
        public NodeType type() {
            return NodeType.NVS;
        }

        @Override
        public String name() {
            return "NVS/" + index;
        }
    }

    /**
     * A NUMA node.
     *
     * @param numaId its number
     * @param model its processor model
     * @param affinity its logical processors as a hexadecimal mask, empty if unknown
     */
    record Cpu(int numaId, CpuModel model, String affinity) implements Node {
        @Override
        public NodeType type() {
            return NodeType.CPU;
        }

        @Override
        public String name() {
            return "CPU/" + numaId;
        }
    }

    /**
     * A network card.
     *
     * @param busId its PCI address, or a made-up one if the address is unknown
     */
    record Nic(String busId) implements Node {
        @Override
        public NodeType type() {
            return NodeType.NIC;
        }

        @Override
        public String name() {
            return "NIC/" + busId;
        }
    }

    /**
     * A network device.
     *
     * @param dev its number
     * @param device its name in the system, empty if unknown
     * @param bandwidthGBps its speed in GB/s
     * @param port its port on the card
     * @param guid the id of its card; all ports of one card have the same
     * @param gdr whether it can access GPU memory
     * @param coll whether the network can reduce
     * @param netInterface the network interface through which sockets use it; empty if it has the device's name or is
     *     unknown
     * @param maxConnections the largest number of channels in each direction; 0 if the device cannot be used,
     *     {@link #UNLIMITED} if it has no limit
     */
    record Net(
            int dev,
            String device,
            double bandwidthGBps,
            int port,
            long guid,
            boolean gdr,
            boolean coll,
            String netInterface,
            int maxConnections)
            implements Node {

        /** Value of {@code maxConnections} for a device without a limit. */
        public static final int UNLIMITED = Integer.MAX_VALUE;

        @Override
        public NodeType type() {
            return NodeType.NET;
        }

        @Override
        public String name() {
            return "NET/" + dev;
        }

        /** Returns the name, followed by the system's name for the device if that is known: {@code NET/0 (mlx5_0)}. */
        public String label() {
            return device.isEmpty() ? name() : name() + " (" + device + ")";
        }
    }

    /**
     * Host memory as the endpoint of a rank.
     *
     * @param rank the rank
     * @param bandwidthGBps copy bandwidth of one rank in GB/s
     */
    record Host(int rank, double bandwidthGBps) implements Node {
        @Override
        public NodeType type() {
            return NodeType.HOST;
        }

        @Override
        public String name() {
            return "HOST/" + rank;
        }
    }
}
