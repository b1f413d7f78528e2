package io.jccl.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the kernel reports of PCI devices: where they are attached, what they are, how wide their links are. */
final class PciDevices {

    private static final String DEVICES = "sys/bus/pci/devices/";
    private static final Pattern BUS_ID = Pattern.compile("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
    private static final int MAX_LEVELS = 16;

    private final SystemFiles files;
    private final CpuNodes nodes;

    PciDevices(SystemFiles files, CpuNodes nodes) {
        this.files = files;
        this.nodes = nodes;
    }

    List<String> busIds() {
        return files.names("sys/bus/pci/devices").stream()
                .filter(name -> BUS_ID.matcher(name).matches())
                .toList();
    }

    /** The bus ids in a device's real path: root port first, the device last; empty if it is not on PCI. */
    List<String> busIdsIn(String realPath) {
        List<String> chain = new ArrayList<>();
        for (String part : realPath.split("/")) {
            Matcher matcher = BUS_ID.matcher(part);
            if (matcher.matches() && chain.size() < MAX_LEVELS) {
                chain.add(part);
            }
        }
        return chain;
    }

    List<String> chainTo(String busId) {
        List<String> chain = files.realPath(DEVICES + busId).map(this::busIdsIn).orElse(List.of());
        return chain.isEmpty() || !chain.get(chain.size() - 1).equals(busId) ? List.of(busId) : chain;
    }

    /**
     * The switches above a device, the outermost first. The first bridge of a chain is the processor's own root port; a
     * switch is two bridges, of which the upper one stands for it.
     */
    static List<String> switchesAbove(List<String> chain) {
        List<String> switches = new ArrayList<>();
        for (int i = 1; i < chain.size() - 1; i += 2) {
            switches.add(chain.get(i));
        }
        return switches;
    }

    Optional<String> file(String busId, String name) {
        return files.line(DEVICES + busId + "/" + name);
    }

    /** The class of a device that is here, such as {@code 0x030200}. */
    Optional<String> classOf(String busId) {
        return file(busId, "class").filter(text -> text.matches("0x[0-9a-fA-F]{1,8}"));
    }

    /**
     * The NUMA node with processors that is nearest to a device, or -1 where the kernel does not know, as is usual in
     * virtual machines. It is asked for the device, then for the bridges above it, then for the processors that it calls
     * local.
     *
     * @param chain bus ids from the root port to the device
     */
    int numaNode(List<String> chain) {
        for (int i = chain.size() - 1; i >= 0; i--) {
            int reported =
                    file(chain.get(i), "numa_node").map(PciDevices::integer).orElse(-1);
            int node = reported < 0 ? -1 : nodes.nearest(reported);
            if (node >= 0) {
                return node;
            }
        }
        return file(chain.get(chain.size() - 1), "local_cpus").map(nodes::only).orElse(-1);
    }

    /** The attributes of a {@code pci} element; what had to be left out is named in {@code origin}. */
    Map<String, String> attributes(String busId, String above, boolean numaKnown) {
        Map<String, String> attributes = new LinkedHashMap<>();
        List<String> missing = new ArrayList<>();
        attributes.put("busid", busId);
        hex(attributes, missing, busId, "class");
        for (String id : List.of("vendor", "device", "subsystem_vendor", "subsystem_device")) {
            hex(attributes, missing, busId, id);
        }
        Optional<String> speed = slower(linkSpeed(busId), above == null ? Optional.empty() : linkSpeed(above));
        speed.ifPresentOrElse(text -> attributes.put("link_speed", text), () -> missing.add("link_speed"));
        int width = narrower(linkWidth(busId), above == null ? 0 : linkWidth(above));
        if (width > 0) {
            attributes.put("link_width", Integer.toString(width));
        } else {
            missing.add("link_width");
        }
        if (!numaKnown) {
            missing.add("numa_node");
        }
        Origin.without("sysfs", missing).ifPresent(origin -> attributes.put("origin", origin));
        return attributes;
    }

    private void hex(Map<String, String> attributes, List<String> missing, String busId, String name) {
        Optional<String> value = file(busId, name).filter(text -> text.matches("0x[0-9a-fA-F]{1,8}"));
        value.ifPresentOrElse(text -> attributes.put(name, text), () -> missing.add(name));
    }

    /** The most that the link can do: devices slow their links down while idle. */
    private Optional<String> linkSpeed(String busId) {
        return file(busId, "max_link_speed")
                .filter(text -> LinkSpeeds.gigatransfers(text).isPresent() && text.length() < 64);
    }

    private int linkWidth(String busId) {
        int width = file(busId, "max_link_width").map(PciDevices::integer).orElse(-1);
        // 255 is what a kernel reports for a link that it cannot read.
        return width > 0 && width <= 32 ? width : 0;
    }

    private static Optional<String> slower(Optional<String> one, Optional<String> other) {
        if (one.isEmpty() || other.isEmpty()) {
            return one.isPresent() ? one : other;
        }
        double first = LinkSpeeds.gigatransfers(one.get()).orElseThrow();
        double second = LinkSpeeds.gigatransfers(other.get()).orElseThrow();
        return first <= second ? one : other;
    }

    private static int narrower(int one, int other) {
        return one == 0 || other == 0 ? Math.max(one, other) : Math.min(one, other);
    }

    static int integer(String text) {
        return text.matches("-?[0-9]{1,9}") ? Integer.parseInt(text) : -1;
    }
}
