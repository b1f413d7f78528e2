package io.jccl.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Builds the graph of a host from its description. One builder builds one graph. */
public final class GraphBuilder {

    private static final long CLASS_BRIDGE = 0x06;
    private static final long CLASS_DISPLAY = 0x03;
    private static final long CLASS_NVSWITCH = 0x0680;
    private static final long CLASS_POWER_NVLINK = 0x068001;
    private static final String NVS = "NVS/0";

    private final Topology.Builder graph = new Topology.Builder();
    private final Map<String, List<String>> namesOfBusId = new HashMap<>();
    private final Map<String, String> cpuOfGpu = new HashMap<>();
    private final List<Node.Cpu> cpus = new ArrayList<>();
    private final List<PendingLink> pending = new ArrayList<>();
    private final Set<Integer> ranks = new HashSet<>();

    /**
     * A link that is resolved after all devices are known, because NVLinks and PCI links may name devices that come
     * later in the file. Every rank on a GPU gets all links of the GPU.
     */
    private record PendingLink(XmlElement element, List<String> from, int sm) {}

    private GraphBuilder() {}

    /**
     * Returns the graph of a description.
     *
     * @throws TopologyException if two elements have the same number, bus id or rank
     */
    public static Topology build(XmlElement system) {
        GraphBuilder builder = new GraphBuilder();
        for (XmlElement cpu : system.children(ElementType.CPU)) {
            builder.addCpu(cpu);
        }
        for (PendingLink link : builder.pending) {
            builder.resolve(link);
        }
        builder.connectCpus();
        return builder.graph.build();
    }

    private void addCpu(XmlElement element) {
        Node.Cpu cpu = new Node.Cpu(
                element.integer("numaid", -1),
                new CpuModel(
                        element.text("arch").orElse(""),
                        element.text("vendor").orElse(""),
                        element.integer("familyid", -1),
                        element.integer("modelid", -1)),
                element.text("affinity").orElse(""));
        addUnique(cpu, element, "numaid");
        cpus.add(cpu);
        for (XmlElement child : element.children()) {
            switch (child.type()) {
                case PCI -> addPci(child, cpu.name(), cpu.name());
                case NIC -> addUnplacedNic(child, cpu.name());
                case HOST -> addHost(child, cpu.name());
                default -> throw new IllegalStateException("unexpected " + child.where());
            }
        }
    }

    private void addHost(XmlElement element, String cpu) {
        Node.Host host = new Node.Host(element.integer("rank", -1), element.number("bw", LinkSpeeds.HOST_MEMORY_GBPS));
        checkRank(host.rank(), element);
        addUnique(host, element, "rank");
        graph.linkBoth(host.name(), cpu, LinkType.MEM, host.bandwidthGBps());
    }

    private void addPci(XmlElement element, String parent, String cpu) {
        String busId = element.text("busid").orElseThrow();
        List<String> names = new ArrayList<>();
        List<XmlElement> gpus = element.children(ElementType.GPU);
        List<XmlElement> nics = element.children(ElementType.NIC);
        if (!gpus.isEmpty()) {
            for (XmlElement gpu : gpus) {
                names.add(addGpu(gpu, busId, cpu));
            }
            // If several ranks share a GPU, the links may be listed under each of them or under one only.
            gpus.stream().filter(gpu -> !gpu.children().isEmpty()).findFirst().ifPresent(gpu -> gpu.children().stream()
                    .filter(link -> link.type() != ElementType.NVLINK || !NvLinkRemarks.isToItself(link, busId))
                    .forEach(link -> pending.add(new PendingLink(link, names, gpu.integer("sm", 0)))));
        } else if (!nics.isEmpty()) {
            names.add(addNic(element, nics, busId));
        } else if (isBridge(element)) {
            Node.Pci pci = new Node.Pci(busId, ids(element));
            addUnique(pci, element, "busid");
            names.add(pci.name());
            addBehind(element, element, pci.name(), cpu);
        }
        double bandwidth = LinkSpeeds.pci(element.text("link_speed").orElse(null), element.integer("link_width", 0));
        for (String name : names) {
            graph.linkToParent(name, parent, bandwidth);
        }
        if (names.size() > 1) {
            int sm = gpus.stream().mapToInt(gpu -> gpu.integer("sm", 0)).max().orElse(0);
            join(names, LinkSpeeds.deviceMemory(sm));
        }
        if (!names.isEmpty()) {
            namesOfBusId.putIfAbsent(busId, names);
        }
    }

    /**
     * Adds the devices below a bridge, or below {@code part}, a switch of the same chip. If one chip shows up as
     * several switches, the parts are merged into the bridge at their head.
     */
    private void addBehind(XmlElement bridge, XmlElement part, String name, String cpu) {
        for (XmlElement child : part.children()) {
            if (bridge == part && SplitSwitches.isPart(bridge, child)) {
                namesOfBusId.putIfAbsent(child.text("busid").orElseThrow(), List.of(name));
                addBehind(bridge, child, name, cpu);
            } else if (child.type() == ElementType.PCI) {
                addPci(child, name, cpu);
            } else {
                pending.add(new PendingLink(child, List.of(name), 0));
            }
        }
    }

    private static boolean isBridge(XmlElement element) {
        return !element.children(ElementType.PCI).isEmpty()
                || element.hex("class", CLASS_BRIDGE << 16) >> 16 == CLASS_BRIDGE;
    }

    private static String ids(XmlElement element) {
        StringBuilder ids = new StringBuilder();
        for (String attribute : List.of("vendor", "device", "subsystem_vendor", "subsystem_device")) {
            Optional<String> id = element.text(attribute);
            if (id.isEmpty()) {
                return "";
            }
            ids.append(ids.isEmpty() ? "" : ":").append(id.get());
        }
        return ids.toString();
    }

    private String addGpu(XmlElement element, String busId, String cpu) {
        Node.Gpu gpu = new Node.Gpu(
                busId,
                element.integer("dev", -1),
                element.integer("rank", -1),
                element.integer("sm", 0),
                element.flag("gdr"),
                element.text("nop2p").map(ids -> List.of(ids.split(" "))).orElse(List.of()));
        if (gpu.rank() >= 0) {
            checkRank(gpu.rank(), element);
        }
        addUnique(gpu, element, gpu.rank() >= 0 ? "rank" : "busid");
        cpuOfGpu.put(gpu.name(), cpu);
        return gpu.name();
    }

    private String addNic(XmlElement pci, List<XmlElement> elements, String busId) {
        Node.Nic nic = new Node.Nic(busId);
        addUnique(nic, pci, "busid");
        for (XmlElement element : elements) {
            addNets(element, nic.name());
        }
        return nic.name();
    }

    /** Adds a card whose PCI device is unknown. The link to its CPU has so much bandwidth that it is no bottleneck. */
    private void addUnplacedNic(XmlElement element, String cpu) {
        String name = null;
        for (int number = 0; name == null; number++) {
            Node.Nic nic = new Node.Nic(element.text("busid").orElse("0000:00:00." + Integer.toHexString(number)));
            if (graph.add(nic)) {
                name = nic.name();
            } else if (element.text("busid").isPresent()) {
                throw twice(nic, element, "busid");
            }
        }
        graph.linkToParent(name, cpu, LinkSpeeds.LOCAL_GBPS);
        addNets(element, name);
    }

    private void addNets(XmlElement nic, String nicName) {
        for (XmlElement element : nic.children(ElementType.NET)) {
            int dev = element.integer("dev", -1);
            if (dev < 0 || element.integer("net", 1) == 0) {
                continue; // net="0": the device moves data for GPUs only (gin, rma), or is a part of another device
            }
            Node.Net net = new Node.Net(
                    dev,
                    element.text("name").orElse(""),
                    LinkSpeeds.network(element.integer("speed", 0)),
                    element.integer("port", 0),
                    element.hex("guid", dev),
                    element.flag("gdr"),
                    element.flag("coll"),
                    element.text("interface").orElse(""),
                    maxConnections(element));
            addUnique(net, element, "dev");
            graph.linkBoth(nicName, net.name(), LinkType.NET, net.bandwidthGBps());
        }
    }

    /** Returns the device's limit of channels. As in NCCL, a negative number means that there is no limit. */
    private static int maxConnections(XmlElement net) {
        int limit = net.integer("maxconn", Node.Net.UNLIMITED);
        return limit < 0 ? Node.Net.UNLIMITED : limit;
    }

    private void resolve(PendingLink link) {
        XmlElement element = link.element;
        switch (element.type()) {
            case NVLINK -> resolveNvLink(link);
            case C2C -> linkToCpu(
                    link, LinkType.C2C, LinkSpeeds.chipToChip(element.number("bw", 0), element.integer("count", 0)));
            case PCILINK -> {
                for (String target : targets(element)) {
                    if (target.startsWith("PCI/") && !link.from.contains(target)) {
                        graph.link(link.from.get(0), target, LinkType.LOC, LinkSpeeds.LOCAL_GBPS);
                    }
                }
            }
            default -> throw new IllegalStateException("unexpected " + element.where());
        }
    }

    private List<String> targets(XmlElement link) {
        return namesOfBusId.getOrDefault(link.text("target").orElseThrow(), List.of());
    }

    private void linkToCpu(PendingLink link, LinkType type, double bandwidth) {
        for (String from : link.from) {
            graph.linkBoth(from, cpuOfGpu.get(from), type, bandwidth);
        }
    }

    /**
     * Adds the links of an NVLink element. A link between two GPUs is added in one direction only, because the GPU at
     * the other end describes the opposite direction.
     */
    private void resolveNvLink(PendingLink link) {
        double bandwidth = link.element.integer("count", 0) * LinkSpeeds.nvLink(link.sm);
        long targetClass = link.element.hex("tclass", 0);
        List<String> targets = targets(link.element);
        if (targetClass == CLASS_POWER_NVLINK) {
            linkToCpu(link, LinkType.NVL, bandwidth);
        } else if (targetClass >> 8 == CLASS_NVSWITCH) {
            graph.add(new Node.Nvs(0));
            link.from.forEach(from -> graph.linkBoth(from, NVS, LinkType.NVL, bandwidth));
        } else if (targetClass == 0 || targetClass >> 16 == CLASS_DISPLAY) {
            for (String from : link.from) {
                targets.forEach(target -> graph.link(from, target, LinkType.NVL, bandwidth));
            }
        }
    }

    /** Links the ranks on one GPU to each other. Data between them stays in the GPU's memory. */
    private void join(List<String> names, double memoryGBps) {
        for (String one : names) {
            for (String other : names) {
                if (!one.equals(other)) {
                    graph.link(one, other, LinkType.LOC, memoryGBps);
                }
            }
        }
    }

    private void connectCpus() {
        for (Node.Cpu one : cpus) {
            for (Node.Cpu other : cpus) {
                if (one != other) {
                    graph.link(one.name(), other.name(), LinkType.SYS, LinkSpeeds.interSocket(one.model()));
                }
            }
        }
    }

    private void addUnique(Node node, XmlElement element, String attribute) {
        if (!graph.add(node)) {
            throw twice(node, element, attribute);
        }
    }

    private void checkRank(int rank, XmlElement element) {
        if (!ranks.add(rank)) {
            throw new TopologyException(element.where() + " rank=\"" + rank + "\": a second endpoint of this rank");
        }
    }

    private static TopologyException twice(Node node, XmlElement element, String attribute) {
        return new TopologyException(element.where() + " attribute=" + attribute + ": a second " + node.name()
                + "; every one needs its own");
    }
}
