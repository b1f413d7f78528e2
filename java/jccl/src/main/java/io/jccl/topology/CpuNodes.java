package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the NUMA nodes and their processors from the kernel. */
final class CpuNodes {

    private static final String NODES = "sys/devices/system/node";
    private static final int MAX_NODES = 256;

    private final SystemFiles files;
    private final String arch;
    private final List<Integer> all;
    private final List<Integer> withCpus;

    /** @param arch the architecture in the spelling of host descriptions */
    CpuNodes(SystemFiles files, String arch) {
        this.files = files;
        this.arch = arch;
        this.all = numbers(files.names(NODES));
        List<Integer> populated = new ArrayList<>();
        for (int node : all) {
            if (CpuMask.isAny(affinity(node))) {
                populated.add(node);
            }
        }
        this.withCpus = populated.isEmpty() ? all : populated;
    }

    private static List<Integer> numbers(List<String> names) {
        List<Integer> numbers = new ArrayList<>();
        for (String name : names) {
            if (name.startsWith("node") && Ascii.isDigits(name.substring(4), 4)) {
                numbers.add(Integer.parseInt(name.substring(4)));
            }
        }
        Collections.sort(numbers);
        return numbers.subList(0, Math.min(MAX_NODES, numbers.size()));
    }

    /**
     * Returns the nodes that have processors, in ascending order; all nodes if none lists its processors. Nodes without
     * processors hold memory only: of a GPU, or attached by CXL.
     */
    List<Integer> list() {
        return withCpus;
    }

    /**
     * Returns the node with processors that is nearest to a node, by the kernel's table of distances; -1 if unknown.
     */
    int nearest(int node) {
        if (withCpus.contains(node)) {
            return node;
        }
        String[] distances = all.contains(node)
                ? files.line(NODES + "/node" + node + "/distance").orElse("").split("\\s+")
                : new String[0];
        int best = -1;
        int min = Integer.MAX_VALUE;
        for (int i = 0; i < distances.length && distances.length == all.size(); i++) {
            int distance = PciDevices.integer(distances[i]);
            if (distance > 0 && distance < min && withCpus.contains(all.get(i))) {
                min = distance;
                best = all.get(i);
            }
        }
        return best;
    }

    /** Returns the only node whose processors intersect a mask, or -1 if no node or several nodes do. */
    int only(String mask) {
        List<Integer> found = new ArrayList<>();
        for (int node : withCpus) {
            if (CpuMask.intersects(mask, affinity(node))) {
                found.add(node);
            }
        }
        return found.size() == 1 ? found.get(0) : -1;
    }

    /** Returns the mask of a node's processors; empty if the kernel does not report one. */
    String affinity(int node) {
        String mask = files.line(NODES + "/node" + node + "/cpumap").orElse("");
        return CpuMask.isValid(mask) ? mask : "";
    }

    /**
     * Returns the attributes of a {@code cpu} element; {@code origin} names the missing ones.
     *
     * @param assumed whether the kernel reports no nodes at all
     */
    Map<String, String> attributes(int node, boolean assumed) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("numaid", Integer.toString(node));
        List<String> missing = new ArrayList<>();
        if (assumed) {
            missing.add("numa nodes");
        }
        putKnown(attributes, missing, "affinity", affinity(node));
        putKnown(attributes, missing, "arch", Ascii.printable(arch, false));
        if (arch.equals("x86_64")) {
            Map<String, String> info = cpuInfo();
            putKnown(attributes, missing, "vendor", info.getOrDefault("vendor_id", ""));
            putKnown(attributes, missing, "familyid", number(info.get("cpu family")));
            putKnown(attributes, missing, "modelid", number(info.get("model")));
        }
        Origin.put(attributes, "sysfs", missing);
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
        return text != null && Ascii.isDigits(text, 6) ? text : "";
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
}
