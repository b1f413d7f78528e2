package io.jccl.cli.doctor;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.device.GpuInventory;
import io.jccl.topology.ElementType;
import io.jccl.topology.ManagementLibrary;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.XmlElement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/** Reports the NUMA nodes, GPUs, network cards and PCI links that detection finds, with the origin of their values. */
final class DeviceChecks {

    private static final String PCI = "/sys/bus/pci/devices/";

    private DeviceChecks() {}

    static List<Finding> numa(Host host) {
        List<String> nodes = new ArrayList<>();
        for (XmlElement cpu : detect(host, GpuInventory.absent("", List.of())).children(ElementType.CPU)) {
            nodes.add("node " + cpu.text("numaid").orElse("?") + " cpu mask "
                    + cpu.text("affinity").orElse("unknown") + origin(cpu));
        }
        return List.of(Finding.ok("numa", String.join(", ", nodes)));
    }

    static List<Finding> networks(Host host) {
        List<String> used = new ArrayList<>();
        List<String> others = new ArrayList<>();
        boolean[] speedless = {false};
        walk(detectNetworks(host), Optional.empty(), (busId, element) -> {
            if (element.type() == ElementType.NET) {
                boolean isUsed = element.integer("dev", -1) >= 0;
                int mbps = element.integer("speed", 0);
                speedless[0] |= isUsed && mbps == 0;
                String name = element.text("name").orElse("?");
                String speed = mbps == 0 ? "speed unknown" : mbps / 1000.0 + " Gb/s";
                String where = busId.map(id -> " at " + id).orElse("");
                if (isUsed) {
                    used.add(name + " " + speed + where);
                } else {
                    others.add(name + origin(element));
                }
            }
        });
        String seen = (used.isEmpty() ? "none that can be used" : String.join(", ", used))
                + (others.isEmpty() ? "" : "; others: " + String.join(", ", others))
                + (speedless[0] ? "; an unknown speed counts as 10 Gb/s" : "");
        return List.of(Finding.ok("networks", seen));
    }

    static List<Finding> gpus(Host host) {
        GpuInventory inventory = inventory(host);
        List<String> gpus = new ArrayList<>();
        walk(detect(host, inventory), Optional.empty(), (busId, element) -> {
            if (element.type() == ElementType.GPU) {
                gpus.add(element.text("dev").orElse("?") + " at " + busId.orElse("?")
                        + element.text("sm").map(sm -> " sm " + sm).orElse("") + origin(element));
            }
        });
        String reasons = String.join("; ", inventory.remarks());
        if (gpus.isEmpty()) {
            return List.of(Finding.ok("gpus", "none" + (inventory.available() ? " by nvml and the kernel" : "")));
        }
        String seen = gpus.size() + ": " + String.join(", ", gpus);
        if (!inventory.available()) {
            return List.of(Finding.warn(
                    "gpus",
                    seen + ": nvml reports nothing (" + reasons + "), so NVLinks are not known",
                    "install the driver with its libnvidia-ml.so.1 (in a container: pass it through), or name it in"
                            + " JCCL_NVML_LIBRARY"));
        }
        return List.of(
                reasons.isEmpty()
                        ? Finding.ok("gpus", seen)
                        : Finding.warn("gpus", seen + ": nvml says " + reasons, "nvidia-smi -q has more"));
    }

    /**
     * Warns of devices whose PCI link has fewer lanes than it could. Speeds are not compared: idle devices lower the
     * speed of their link, but keep its lanes.
     */
    static List<Finding> pciLinks(Host host) {
        List<String> narrow = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        walk(detect(host, inventory(host)), Optional.empty(), (busId, element) -> {
            boolean device = element.type() == ElementType.GPU || element.type() == ElementType.NIC;
            if (device && busId.isPresent() && !seen.contains(busId.get())) {
                seen.add(busId.get());
                Optional<Integer> now = width(host, busId.get(), "current_link_width");
                Optional<Integer> max = width(host, busId.get(), "max_link_width");
                if (now.isPresent() && max.isPresent() && now.get() < max.get()) {
                    narrow.add(busId.get() + " x" + now.get() + " of x" + max.get());
                }
            }
        });
        if (narrow.isEmpty()) {
            return List.of(Finding.ok("pci-links", "devices=" + seen.size() + ": none is narrower than it can be"));
        }
        return List.of(Finding.warn(
                "pci-links",
                "narrower than the device can be: " + String.join(", ", narrow),
                "seat the card again, or move it to a slot with all its lanes"));
    }

    private static Optional<Integer> width(Host host, String busId, String file) {
        return host.read(PCI + busId + "/" + file)
                .filter(text -> text.matches("[0-9]{1,2}"))
                .map(Integer::valueOf)
                .filter(lanes -> lanes > 0);
    }

    private static GpuInventory inventory(Host host) {
        try {
            return ManagementLibrary.ask(
                    Settings.load(CommunicatorConfig.defaults(), System::getProperty, host.environment()));
        } catch (IllegalArgumentException e) {
            return GpuInventory.absent("nvml", List.of("the settings cannot be read")); // LibraryChecks reports this
        }
    }

    private static XmlElement detectNetworks(Host host) {
        return new SysfsDetector(
                        host.root(),
                        System.getProperty("os.arch", ""),
                        GpuInventory.absent("", List.of()),
                        true,
                        PluginChecks.choice(host).plugin())
                .detect(List.of());
    }

    private static XmlElement detect(Host host, GpuInventory inventory) {
        return new SysfsDetector(host.root(), System.getProperty("os.arch", ""), inventory).detect(List.of());
    }

    /** Visits every element together with the bus id of the PCI device that it is or belongs to. */
    private static void walk(
            XmlElement element, Optional<String> busId, BiConsumer<Optional<String>, XmlElement> visit) {
        Optional<String> own = element.type() == ElementType.PCI ? element.text("busid") : busId;
        visit.accept(own, element);
        element.children().forEach(child -> walk(child, own, visit));
    }

    private static String origin(XmlElement element) {
        return element.text("origin").map(origin -> " (" + origin + ")").orElse("");
    }
}
