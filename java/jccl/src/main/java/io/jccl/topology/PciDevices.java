package io.jccl.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the kernel reports of PCI devices: where they are attached, what they are, how wide their links are. */
final class PciDevices {

    private static final String DEVICES = "sys/bus/pci/devices/";
    private static final int MAX_LEVELS = 16;

    private final SystemFiles files;
    private final CpuNodes nodes;

    PciDevices(SystemFiles files, CpuNodes nodes) {
        this.files = files;
        this.nodes = nodes;
    }

    /** Whether a text has the form of a bus id: domain, bus, device and function. */
    static boolean isBusId(String text) {
        int bus = text.indexOf(':') + 1;
        return bus >= 5
                && bus <= 9
                && text.length() == bus + 7
                && Ascii.isHex(text, 0, bus - 1)
                && Ascii.isHex(text, bus, bus + 2)
                && text.charAt(bus + 2) == ':'
                && Ascii.isHex(text, bus + 3, bus + 5)
                && text.charAt(bus + 5) == '.'
                && Ascii.isHex(text, bus + 6, bus + 7);
    }

    /** A device of the kernel has 8 functions at most. */
    private static boolean isName(String text) {
        return isBusId(text) && text.charAt(text.length() - 1) <= '7';
    }

    List<String> busIds() {
        List<String> busIds = new ArrayList<>();
        for (String name : files.names("sys/bus/pci/devices")) {
            if (isName(name)) {
                busIds.add(name);
            }
        }
        return busIds;
    }

    /** The bus ids in a device's real path: root port first, the device last; empty if it is not on PCI. */
    List<String> busIdsIn(String realPath) {
        List<String> chain = new ArrayList<>();
        for (String part : realPath.split("/")) {
            if (isName(part) && chain.size() < MAX_LEVELS) {
                chain.add(part);
            }
        }
        return chain;
    }

    List<String> chainTo(String busId) {
        List<String> chain = busIdsIn(files.realPath(DEVICES + busId).orElse(""));
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
        return file(busId, "class").filter(text -> Ascii.isPrefixedHex(text, 8));
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
            int reported = integer(file(chain.get(i), "numa_node").orElse(""));
            int node = reported < 0 ? -1 : nodes.nearest(reported);
            if (node >= 0) {
                return node;
            }
        }
        return nodes.only(file(chain.get(chain.size() - 1), "local_cpus").orElse(""));
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
        put(attributes, missing, "link_speed", slower(linkSpeed(busId), above == null ? "" : linkSpeed(above)));
        int width = narrower(linkWidth(busId), above == null ? 0 : linkWidth(above));
        if (width > 0) {
            attributes.put("link_width", Integer.toString(width));
        } else {
            missing.add("link_width");
        }
        if (!numaKnown) {
            missing.add("numa_node");
        }
        Origin.put(attributes, "sysfs", missing);
        return attributes;
    }

    private void hex(Map<String, String> attributes, List<String> missing, String busId, String name) {
        String value = file(busId, name).orElse("");
        put(attributes, missing, name, Ascii.isPrefixedHex(value, 8) ? value : "");
    }

    private static void put(Map<String, String> attributes, List<String> missing, String name, String value) {
        if (value.isEmpty()) {
            missing.add(name);
        } else {
            attributes.put(name, value);
        }
    }

    /** The most that the link can do: devices slow their links down while idle. */
    private String linkSpeed(String busId) {
        String speed = file(busId, "max_link_speed").orElse("");
        return LinkSpeeds.gigatransfers(speed).isPresent() && speed.length() < 64 ? speed : "";
    }

    private int linkWidth(String busId) {
        int width = integer(file(busId, "max_link_width").orElse(""));
        // 255 is what a kernel reports for a link that it cannot read.
        return width > 0 && width <= 32 ? width : 0;
    }

    /** Where one is empty, the other. */
    private static String slower(String one, String other) {
        if (one.isEmpty() || other.isEmpty()) {
            return one + other;
        }
        double first = LinkSpeeds.gigatransfers(one).orElseThrow();
        double second = LinkSpeeds.gigatransfers(other).orElseThrow();
        return first <= second ? one : other;
    }

    private static int narrower(int one, int other) {
        return one == 0 || other == 0 ? Math.max(one, other) : Math.min(one, other);
    }

    static int integer(String text) {
        return Ascii.isInteger(text, 9) ? Integer.parseInt(text) : -1;
    }
}
