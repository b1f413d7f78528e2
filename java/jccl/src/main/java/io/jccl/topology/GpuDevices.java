package io.jccl.topology;

import io.jccl.device.GpuInventory;
import io.jccl.device.GpuInventory.Gpu;
import io.jccl.device.GpuInventory.LinkEnd;
import io.jccl.device.GpuInventory.NvLink;
import io.jccl.device.GpuInventory.PeerAccess;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Lists the GPUs that their management library reports, and those that only the kernel reports. */
final class GpuDevices {

    private static final String NVIDIA = "0x10de";
    private static final int MAX_DEVICES = 256;
    /** Name of a link's other end whose bus id is unknown. */
    private static final String NOWHERE = "ffff:ff:ff.f";
    /** The first kernel version whose network drivers accept GPU memory as a dma-buf. */
    private static final List<Integer> DMA_BUF_KERNEL = List.of(5, 12);

    private final SystemFiles files;
    private final PciDevices pci;
    private final GpuInventory inventory;

    /**
     * A GPU and its place.
     *
     * @param chain bus ids from the root port to the GPU
     * @param element its description
     */
    record Placed(List<String> chain, XmlElement element) {}

    GpuDevices(SystemFiles files, PciDevices pci, GpuInventory inventory) {
        this.files = files;
        this.pci = pci;
        this.inventory = inventory;
    }

    /**
     * Returns all GPUs: first those of the inventory in its order, then by bus id those that only the kernel reports.
     */
    List<Placed> list() {
        Optional<String> direct = directRdma();
        List<Placed> found = new ArrayList<>();
        Set<String> reported = new HashSet<>();
        for (Gpu gpu : inventory.gpus()) {
            if (reported.size() < MAX_DEVICES && reported.add(gpu.busId())) {
                found.add(new Placed(pci.chainTo(gpu.busId()), element(gpu, direct)));
            }
        }
        int dev = 0;
        for (String busId : pci.busIds()) {
            if (isGpu(busId) && !reported.contains(busId) && found.size() < MAX_DEVICES) {
                found.add(new Placed(pci.chainTo(busId), elementOfKernel(dev++)));
            }
        }
        return found;
    }

    private boolean isGpu(String busId) {
        return pci.file(busId, "vendor").equals(Optional.of(NVIDIA))
                && pci.file(busId, "class").orElse("").startsWith("0x03");
    }

    /**
     * Describes a GPU that the library does not report. If the library answered, another process or container has the
     * GPU.
     */
    private XmlElement elementOfKernel(int dev) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("dev", inventory.available() ? "-1" : Integer.toString(dev));
        attributes.put(
                "origin",
                inventory.available()
                        ? "sysfs; " + inventory.source() + " does not give it to this process"
                        : "sysfs without sm nvlink c2c gdr");
        return new XmlElement(ElementType.GPU, attributes, List.of(), 0);
    }

    private XmlElement element(Gpu gpu, Optional<String> direct) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("dev", Integer.toString(gpu.index()));
        StringBuilder origin = new StringBuilder(inventory.source());
        if (gpu.sm() >= 0) {
            attributes.put("sm", Integer.toString(gpu.sm()));
        } else {
            origin.append(" without sm");
        }
        gpu.mig().ifPresent(mig -> attributes.put("mig", mig ? "1" : "0"));
        attributes.put("gdr", direct.isPresent() ? "1" : "0");
        direct.ifPresent(module -> origin.append("; gdr by ").append(module));
        String barred = String.join(" ", barredPeers(gpu));
        if (!barred.isEmpty() && barred.length() <= AttributeRule.MAX_LENGTH) {
            attributes.put("nop2p", barred);
        }
        attributes.put("origin", origin.toString());
        List<XmlElement> links = new ArrayList<>(nvLinks(gpu));
        if (gpu.c2cLinks() > 0) {
            links.add(new XmlElement(
                    ElementType.C2C,
                    ordered(
                            "bw",
                            Integer.toString(gpu.c2cMegabytesPerSecond()),
                            "count",
                            Integer.toString(gpu.c2cLinks())),
                    List.of(),
                    0));
        }
        return new XmlElement(ElementType.GPU, attributes, links, 0);
    }

    private List<String> barredPeers(Gpu gpu) {
        List<String> barred = new ArrayList<>();
        for (int i = 0; i < Math.min(gpu.peers().size(), inventory.gpus().size()); i++) {
            if (gpu.peers().get(i) == PeerAccess.NO) {
                barred.add(inventory.gpus().get(i).busId());
            }
        }
        return barred;
    }

    /** Returns one element for all links to the same device. */
    private List<XmlElement> nvLinks(Gpu gpu) {
        Map<String, List<NvLink>> byTarget = new LinkedHashMap<>();
        for (NvLink link : gpu.nvLinks()) {
            byTarget.computeIfAbsent(link.busId().orElse(NOWHERE), target -> new ArrayList<>())
                    .add(link);
        }
        List<XmlElement> elements = new ArrayList<>();
        byTarget.forEach((target, links) -> {
            Map<String, String> attributes = ordered("target", target, "count", Integer.toString(links.size()));
            Optional<String> known = pci.classOf(target);
            LinkEnd end = links.get(0).end();
            attributes.put("tclass", known.orElse(classOf(end)));
            if (known.isEmpty()) {
                attributes.put(
                        "origin",
                        end == LinkEnd.UNKNOWN
                                ? "tclass assumed: the other end is not visible here"
                                : "tclass by " + inventory.source());
            }
            elements.add(new XmlElement(ElementType.NVLINK, attributes, List.of(), 0));
        });
        return elements;
    }

    /**
     * Returns the PCI class of a link's other end. An end that this host cannot see counts as a switch, because virtual
     * machines get GPUs without their switches.
     */
    private static String classOf(LinkEnd end) {
        return switch (end) {
            case GPU -> "0x030200";
            case CPU -> "0x068001";
            case SWITCH, UNKNOWN -> "0x068000";
        };
    }

    /**
     * Returns the means by which network cards access GPU memory: a kernel module, or dma-buf if both driver and kernel
     * support it.
     */
    private Optional<String> directRdma() {
        for (String module : List.of("nvidia_peermem", "nv_peer_mem")) {
            if (!files.names("sys/module/" + module).isEmpty()) {
                return Optional.of(module);
            }
        }
        boolean open = files.line("proc/driver/nvidia/version").orElse("").contains("Open Kernel Module");
        return open && kernelTakesDmaBuf() ? Optional.of("dma-buf") : Optional.empty();
    }

    private boolean kernelTakesDmaBuf() {
        String[] release = files.line("proc/sys/kernel/osrelease").orElse("").split("[^0-9]", 3);
        if (release.length < 2) {
            return false;
        }
        int major = PciDevices.integer(release[0]);
        return major > DMA_BUF_KERNEL.get(0)
                || major == DMA_BUF_KERNEL.get(0) && PciDevices.integer(release[1]) >= DMA_BUF_KERNEL.get(1);
    }

    private static Map<String, String> ordered(String first, String one, String second, String two) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put(first, one);
        attributes.put(second, two);
        return attributes;
    }
}
