package io.jccl.topology;

import io.jccl.config.IbSettings;
import io.jccl.config.Settings;
import io.jccl.device.GpuInventory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Describes a Linux host from the files of its kernel: NUMA nodes and processors, the PCI switches above network cards
 * and GPUs, and network devices. The management library of the GPUs adds their properties. Every value is optional; an
 * element's {@code origin} names values that were assumed or that come from another source than the kernel. Detection
 * never fails, and the result is always a valid description, whatever the files contain.
 */
public final class SysfsDetector {

    private final SystemFiles files;
    private final CpuNodes nodes;
    private final PciDevices pci;
    private final GpuDevices gpus;
    private final NetElements nets;

    /**
     * Makes a detector that tries verbs and learns of GPUs from the kernel only.
     *
     * @param root the folder that replaces {@code /}
     * @param osArch the architecture as Java spells it in the property {@code os.arch}
     */
    public SysfsDetector(Path root, String osArch) {
        this(root, osArch, GpuInventory.absent(ManagementLibrary.NAME, List.of("not asked")));
    }

    /**
     * Makes a detector that tries verbs.
     *
     * @param root the folder that replaces {@code /}
     * @param osArch the architecture as Java spells it in the property {@code os.arch}
     * @param inventory the GPUs that the management library reports
     */
    public SysfsDetector(Path root, String osArch, GpuInventory inventory) {
        this(root, osArch, inventory, true, Optional.empty());
    }

    /**
     * Makes a detector.
     *
     * @param root the folder that replaces {@code /}
     * @param osArch the architecture as Java spells it in the property {@code os.arch}
     * @param inventory the GPUs that the management library reports
     * @param verbs whether verbs are tried: {@link IbSettings#tried}
     * @param plugin the network plug-in in use
     */
    public SysfsDetector(Path root, String osArch, GpuInventory inventory, boolean verbs, Optional<NetPlugin> plugin) {
        this(root, osArch, inventory, verbs, plugin, List.of());
    }

    /** @param reducing the devices whose network reduces */
    SysfsDetector(
            Path root,
            String osArch,
            GpuInventory inventory,
            boolean verbs,
            Optional<NetPlugin> plugin,
            List<ReducingDevice> reducing) {
        this.files = new SystemFiles(root);
        this.nodes = new CpuNodes(
                files,
                switch (osArch) {
                    case "amd64" -> "x86_64";
                    case "aarch64" -> "arm64";
                    case "ppc64le" -> "ppc64";
                    default -> osArch;
                });
        this.pci = new PciDevices(files, nodes);
        this.gpus = new GpuDevices(files, pci, inventory);
        this.nets = new NetElements(new NetDevices(files, pci), new VerbsDevices(files, pci), verbs, plugin, reducing);
    }

    /** Makes a detector for this host that does not ask a management library. */
    public static SysfsDetector ofThisHost() {
        return new SysfsDetector(Path.of("/"), System.getProperty("os.arch", ""));
    }

    /** Describes the host that this program runs on, without asking a management library. */
    public static XmlElement detectThisHost(List<HostRank> ranks) {
        return ofThisHost().detect(ranks);
    }

    /**
     * Describes the host that this program runs on. The settings name the management library and decide whether verbs
     * are tried.
     *
     * @param plugin the network plug-in in use
     * @param reducing the devices whose network reduces
     */
    static XmlElement detectThisHost(
            Settings settings, Optional<NetPlugin> plugin, List<ReducingDevice> reducing, List<HostRank> ranks) {
        return new SysfsDetector(
                        Path.of("/"),
                        System.getProperty("os.arch", ""),
                        ManagementLibrary.ask(settings),
                        IbSettings.tried(settings),
                        plugin,
                        reducing)
                .detect(ranks);
    }

    /**
     * Describes the host.
     *
     * @param ranks the ranks of this host that work on host memory; each becomes a {@code host} element
     */
    public XmlElement detect(List<HostRank> ranks) {
        Map<Integer, List<XmlElement>> contents = new TreeMap<>();
        for (int node : nodes.list()) {
            contents.put(node, new ArrayList<>());
        }
        boolean assumed = contents.isEmpty();
        if (assumed) {
            contents.put(0, new ArrayList<>());
        }
        PciTree tree = new PciTree(pci, contents);
        for (NetElements.Placed net : nets.list()) {
            tree.addNet(net.chain(), net.element());
        }
        for (GpuDevices.Placed gpu : gpus.list()) {
            tree.addGpu(gpu.chain(), gpu.element());
        }
        tree.finish();
        List<XmlElement> cpus = new ArrayList<>();
        for (Map.Entry<Integer, List<XmlElement>> content : contents.entrySet()) {
            Map<String, String> attributes = nodes.attributes(content.getKey(), assumed);
            cpus.add(new XmlElement(ElementType.CPU, attributes, content.getValue(), 0));
        }
        return HostElements.add(new XmlElement(ElementType.SYSTEM, Map.of("version", "1"), cpus, 0), ranks);
    }

    /**
     * Returns the processors on which this process may be scheduled, and the number of processors that the JVM reports
     * as available.
     */
    public Processors processorsOfThisProcess() {
        return new Processors(Runtime.getRuntime().availableProcessors(), CpuMask.ofThisProcess(files));
    }

    /**
     * Returns the NUMA node that contains all processors open to this process, or -1 if they belong to several nodes or
     * the node is unknown.
     */
    public int numaNodeOfThisProcess() {
        return nodes.only(CpuMask.ofThisProcess(files));
    }
}
