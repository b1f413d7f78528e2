package io.jccl.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads PCI devices from the kernel: their place in the tree, their ids and their link widths. */
final class PciDevices {

    private static final String DEVICES = "sys/bus/pci/devices/";
    private static final int MAX_LEVELS = 16;

    private final SystemFiles files;
    private final CpuNodes nodes;

    PciDevices(SystemFiles files, CpuNodes nodes) {
        this.files = files;
        this.nodes = nodes;
    }

    /** Returns true if a text has the form of a bus id: domain, bus, device and function. */
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

    /** Returns true if a text is a bus id of the kernel, where a device has at most 8 functions. */
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

    /** Returns the bus ids in a device's real path, from the root port to the device; empty if it is not on PCI. */
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
     * Returns the switches above a device, the outermost first. The first bridge of a chain is the processor's root
     * port. A switch consists of two bridges; its upper bridge represents it.
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

    /** Returns the class of an existing device, such as {@code 0x030200}. */
    Optional<String> classOf(String busId) {
        return file(busId, "class").filter(text -> Ascii.isPrefixedHex(text, 8));
    }

    /**
     * Returns the NUMA node with processors that is nearest to a device, or -1 if the kernel does not know it, as is
     * usual in virtual machines. Uses the first known node of the device and of the bridges above it, then the node of
     * the device's local processors.
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

    /** Returns the attributes of a {@code pci} element; {@code origin} names the missing ones. */
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

    /** Returns the link's maximum speed, because devices slow their links down while idle. */
    private String linkSpeed(String busId) {
        String speed = file(busId, "max_link_speed").orElse("");
        return LinkSpeeds.gigatransfers(speed).isPresent() && speed.length() < 64 ? speed : "";
    }

    private int linkWidth(String busId) {
        int width = integer(file(busId, "max_link_width").orElse(""));
        // Kernels report 255 for a link that they cannot read.
        return width > 0 && width <= 32 ? width : 0;
    }

    /** Returns the slower of two speeds; if one is empty, the other. */
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
