package io.jccl.topology;

import java.util.List;

/** A node of the graph. What it is linked to is known by the {@link Topology}, which numbers the nodes. */
public sealed interface Node {

    /** What this node stands for. */
    NodeType type();

    /** A name that no other node of the host has, for example {@code GPU/0}. */
    String name();

    /**
     * A GPU.
     *
     * @param busId its PCI address
     * @param dev its number in the CUDA runtime, -1 where not known
     * @param rank the rank that owns it, -1 where none does
     * @param sm its compute capability times ten, 0 where not known
     * @param gdr whether network cards can reach its memory
     * @param barredPeers the PCI addresses of GPUs whose memory it cannot use
     */
    record Gpu(String busId, int dev, int rank, int sm, boolean gdr, List<String> barredPeers) implements Node {

        /** Takes a copy. */
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

        /** Whether neither of two GPUs uses the other's memory, because one of them says that it cannot. */
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
     * @param ids vendor, device and subsystem ids, separated by colons, empty where not known
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
     * The NVLink switches of a host, seen as one.
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
     * @param model what processor it is
     * @param affinity its processors as a hexadecimal mask, empty where not known
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
     * @param busId its PCI address; a made-up one where it is not known
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
     * @param device its name in the system, empty where not known
     * @param bandwidthGBps its speed in GB/s
     * @param port its port on the card
     * @param guid what its card calls itself; ports of one card share it
     * @param gdr whether it can reach GPU memory
     * @param coll whether the network can reduce
     * @param netInterface the network interface by which sockets use it, empty where that is its name or not known
     * @param maxConnections how many channels may come in by it, and how many leave: 0 where it cannot be used, {@link #UNLIMITED}
     *     where nothing limits them
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

        /** So many channels may use a device that sets no limit. */
        public static final int UNLIMITED = Integer.MAX_VALUE;

        @Override
        public NodeType type() {
            return NodeType.NET;
        }

        @Override
        public String name() {
            return "NET/" + dev;
        }

        /** The name, and what the system calls it where that is known: {@code NET/0 (mlx5_0)}. */
        public String label() {
            return device.isEmpty() ? name() : name() + " (" + device + ")";
        }
    }

    /**
     * Host memory as the endpoint of a rank.
     *
     * @param rank the rank
     * @param bandwidthGBps what a rank can copy in GB/s
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
