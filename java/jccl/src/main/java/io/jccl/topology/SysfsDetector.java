package io.jccl.topology;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Describes a Linux machine from what its kernel tells: NUMA nodes and processors, the PCI switches above network cards
 * and GPUs, and network devices. Every value is optional; where one had to be assumed, the element's {@code origin}
 * says so. Whatever the files contain, the result is a description that can be read back; it never fails.
 */
public final class SysfsDetector {

    private static final String NODES = "sys/devices/system/node";
    private static final String NVIDIA = "0x10de";
    private static final int MAX_DEVICES = 256;

    private final SystemFiles files;
    private final PciDevices pci;
    private final NetDevices nets;
    private final String arch;

    /**
     * @param root what stands for {@code /}
     * @param osArch the architecture as Java names it in the property {@code os.arch}
     */
    public SysfsDetector(Path root, String osArch) {
        this.files = new SystemFiles(root);
        this.pci = new PciDevices(files);
        this.nets = new NetDevices(files, pci);
        this.arch = switch (osArch) {
            case "amd64" -> "x86_64";
            case "aarch64" -> "arm64";
            case "ppc64le" -> "ppc64";
            default -> osArch;
        };
    }

    /** Describes the machine that this program runs on. */
    public static XmlElement detectThisMachine(List<HostRank> ranks) {
        return new SysfsDetector(Path.of("/"), System.getProperty("os.arch", "")).detect(ranks);
    }

    /**
     * Describes the machine.
     *
     * @param ranks the ranks of this machine that work on host memory; each becomes a {@code host} element
     */
    public XmlElement detect(List<HostRank> ranks) {
        Map<Integer, List<XmlElement>> contents = new TreeMap<>();
        for (int node : numaNodes()) {
            contents.put(node, new ArrayList<>());
        }
        boolean assumed = contents.isEmpty();
        if (assumed) {
            contents.put(0, new ArrayList<>());
        }
        addPci(contents);
        for (HostRank rank : ranks) {
            addHost(contents, rank);
        }
        List<XmlElement> cpus = new ArrayList<>();
        contents.forEach((node, children) ->
                cpus.add(new XmlElement(ElementType.CPU, cpuAttributes(node, assumed), children, 0)));
        return new XmlElement(ElementType.SYSTEM, Map.of("version", "1"), cpus, 0);
    }

    /** The processors that this process may be scheduled on, and how many of them the JVM says it may keep busy. */
    public Processors processorsOfThisProcess() {
        return new Processors(Runtime.getRuntime().availableProcessors(), allowedProcessors());
    }

    private String allowedProcessors() {
        return files.lines("proc/self/status").stream()
                .filter(line -> line.startsWith("Cpus_allowed:"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .filter(CpuMask::isValid)
                .findFirst()
                .orElse("");
    }

    /** The NUMA node that all processors open to this process belong to, or -1 where there are several. */
    public int numaNodeOfThisProcess() {
        String allowed = allowedProcessors();
        int found = -1;
        for (int node : numaNodes()) {
            if (CpuMask.intersects(allowed, affinity(node))) {
                if (found >= 0) {
                    return -1;
                }
                found = node;
            }
        }
        return found;
    }

    private List<Integer> numaNodes() {
        return files.names(NODES).stream()
                .filter(name -> name.matches("node[0-9]{1,4}"))
                .map(name -> Integer.parseInt(name.substring(4)))
                .limit(MAX_DEVICES)
                .toList();
    }

    private String affinity(int node) {
        return files.line(NODES + "/node" + node + "/cpumap")
                .filter(CpuMask::isValid)
                .orElse("");
    }

    private Map<String, String> cpuAttributes(int node, boolean assumed) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("numaid", Integer.toString(node));
        List<String> missing = new ArrayList<>();
        if (assumed) {
            missing.add("numa nodes");
        }
        String affinity = affinity(node);
        putKnown(attributes, missing, "affinity", affinity);
        putKnown(attributes, missing, "arch", arch.replaceAll("[^\\x21-\\x7e]", "?"));
        if (arch.equals("x86_64")) {
            Map<String, String> info = cpuInfo();
            putKnown(attributes, missing, "vendor", info.getOrDefault("vendor_id", ""));
            putKnown(attributes, missing, "familyid", number(info.get("cpu family")));
            putKnown(attributes, missing, "modelid", number(info.get("model")));
        }
        if (!missing.isEmpty()) {
            attributes.put("origin", "sysfs without " + String.join(" ", missing));
        }
        return attributes;
    }

    private static void putKnown(Map<String, String> attributes, List<String> missing, String name, String value) {
        if (value.isEmpty() || value.length() > AttributeRule.MAX_LENGTH) {
            missing.add(name);
        } else {
            attributes.put(name, value);
        }
    }

    private static String number(String text) {
        return text != null && text.matches("[0-9]{1,6}") ? text : "";
    }

    private Map<String, String> cpuInfo() {
        Map<String, String> info = new LinkedHashMap<>();
        for (String line : files.lines("proc/cpuinfo")) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                info.putIfAbsent(
                        line.substring(0, colon).strip(),
                        line.substring(colon + 1).strip());
            }
        }
        return info;
    }

    private void addPci(Map<Integer, List<XmlElement>> contents) {
        PciTree tree = new PciTree(pci, contents);
        List<NetDevices.Device> devices =
                nets.list().stream().limit(MAX_DEVICES).toList();
        boolean physical = devices.stream().anyMatch(device -> !device.virtual() && !device.isDown());
        int dev = 0;
        for (NetDevices.Device device : devices) {
            boolean used = !device.isDown() && !device.isInternal() && (!physical || !device.virtual());
            tree.addNet(device.chain(), netElement(device, used ? dev++ : -1));
        }
        int gpus = 0;
        for (String busId : pci.busIds()) {
            boolean display = pci.file(busId, "class")
                    .map(text -> text.startsWith("0x03"))
                    .orElse(false);
            if (display && pci.file(busId, "vendor").equals(Optional.of(NVIDIA)) && gpus < MAX_DEVICES) {
                Map<String, String> attributes = new LinkedHashMap<>();
                attributes.put("dev", Integer.toString(gpus++));
                attributes.put("origin", "sysfs without sm rank");
                tree.addGpu(pci.chainTo(busId), new XmlElement(ElementType.GPU, attributes, List.of(), 0));
            }
        }
        tree.finish();
    }

    private static XmlElement netElement(NetDevices.Device device, int dev) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("name", device.name());
        attributes.put("dev", Integer.toString(dev));
        List<String> notes = new ArrayList<>();
        if (device.mbps() > 0) {
            attributes.put("speed", Integer.toString(device.mbps()));
        } else {
            notes.add("sysfs without speed");
        }
        attributes.put("gdr", "0");
        if (!device.state().isEmpty()) {
            attributes.put("state", device.state());
        }
        if (!device.driver().isEmpty()) {
            attributes.put("driver", device.driver());
        }
        attributes.put("virtual", device.virtual() ? "1" : "0");
        if (dev < 0) {
            notes.add(device.isDown() ? "not used because it is down" : "not used because it is virtual");
        }
        if (!notes.isEmpty()) {
            attributes.put("origin", String.join("; ", notes));
        }
        return new XmlElement(ElementType.NET, attributes, List.of(), 0);
    }

    private static void addHost(Map<Integer, List<XmlElement>> contents, HostRank rank) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("rank", Integer.toString(rank.rank()));
        attributes.put("bw", Double.toString(LinkSpeeds.HOST_MEMORY_GBPS));
        boolean known = contents.containsKey(rank.numaNode());
        attributes.put("origin", known ? "bw assumed" : "bw assumed; bound to no numa node");
        int node = known ? rank.numaNode() : contents.keySet().iterator().next();
        contents.get(node).add(new XmlElement(ElementType.HOST, attributes, List.of(), 0));
    }
}
