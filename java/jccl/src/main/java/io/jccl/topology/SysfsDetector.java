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
 * Describes a Linux host from what its kernel reports: NUMA nodes and processors, the PCI switches above network cards
 * and GPUs, and network devices; and from what the GPUs' management library adds. Every value is optional; where one had
 * to be assumed, or comes from elsewhere than the kernel, the element's {@code origin} says so. Whatever the files
 * contain, the result is a description that can be read back; it never fails.
 */
public final class SysfsDetector {

    private final SystemFiles files;
    private final CpuNodes nodes;
    private final PciDevices pci;
    private final GpuDevices gpus;
    private final NetElements nets;

    /**
     * A host made of files, whose GPUs only the kernel reports, and where verbs are tried.
     *
     * @param root what stands for {@code /}
     * @param osArch the architecture as Java names it in the property {@code os.arch}
     */
    public SysfsDetector(Path root, String osArch) {
        this(root, osArch, GpuInventory.absent(ManagementLibrary.NAME, List.of("not asked")));
    }

    /**
     * A host made of files and of GPUs, where verbs are tried.
     *
     * @param root what stands for {@code /}
     * @param osArch the architecture as Java names it in the property {@code os.arch}
     * @param inventory what the management library reports of its GPUs
     */
    public SysfsDetector(Path root, String osArch, GpuInventory inventory) {
        this(root, osArch, inventory, true, Optional.empty());
    }

    /**
     * A host made of files and of GPUs.
     *
     * @param root what stands for {@code /}
     * @param osArch the architecture as Java names it in the property {@code os.arch}
     * @param inventory what the management library reports of its GPUs
     * @param verbs whether they are tried: {@link IbSettings#tried}
     * @param plugin the network plug-in that is used
     */
    public SysfsDetector(Path root, String osArch, GpuInventory inventory, boolean verbs, Optional<NetPlugin> plugin) {
        this(root, osArch, inventory, verbs, plugin, List.of());
    }

    /** @param reducing the devices behind which a network reduces */
    SysfsDetector(
            Path root,
            String osArch,
            GpuInventory inventory,
            boolean verbs,
            Optional<NetPlugin> plugin,
            List<CollNetDevices.Device> reducing) {
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

    /** This host without what a management library would report. */
    public static SysfsDetector ofThisHost() {
        return new SysfsDetector(Path.of("/"), System.getProperty("os.arch", ""));
    }

    /** Describes the host that this program runs on, without asking a management library. */
    public static XmlElement detectThisHost(List<HostRank> ranks) {
        return ofThisHost().detect(ranks);
    }

    /**
     * Describes the host that this program runs on; the settings name the management library, and say whether verbs are
     * tried.
     *
     * @param plugin the network plug-in that is used
     */
    public static XmlElement detectThisHost(Settings settings, Optional<NetPlugin> plugin, List<HostRank> ranks) {
        return new SysfsDetector(
                        Path.of("/"),
                        System.getProperty("os.arch", ""),
                        ManagementLibrary.ask(settings),
                        IbSettings.tried(settings),
                        plugin,
                        CollNetDevices.of(settings))
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

    /** The processors that this process may be scheduled on, and how many of them the JVM says it may keep busy. */
    public Processors processorsOfThisProcess() {
        return new Processors(Runtime.getRuntime().availableProcessors(), CpuMask.ofThisProcess(files));
    }

    /** The NUMA node that all processors open to this process belong to, or -1 where there are several. */
    public int numaNodeOfThisProcess() {
        return nodes.only(CpuMask.ofThisProcess(files));
    }
}
