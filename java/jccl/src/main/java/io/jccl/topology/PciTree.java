package io.jccl.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Collects devices and groups them by PCI switch and by NUMA node. */
final class PciTree {

    /** A PCI device that becomes an element of the host description. */
    private static final class Branch {
        private final String busId;
        private final String above;
        private final Map<String, Branch> below = new LinkedHashMap<>();
        private final List<XmlElement> nets = new ArrayList<>();
        private XmlElement gpu;

        Branch(String busId, String above) {
            this.busId = busId;
            this.above = above;
        }
    }

    private final PciDevices pci;
    private final Map<Integer, List<XmlElement>> contents;
    private final Map<String, Branch> tops = new LinkedHashMap<>();
    private final Map<String, Integer> numaOfTop = new LinkedHashMap<>();
    private final List<XmlElement> unplaced = new ArrayList<>();

    /** @param contents the elements of each NUMA node; {@link #finish} adds the collected elements to it */
    PciTree(PciDevices pci, Map<Integer, List<XmlElement>> contents) {
        this.pci = pci;
        this.contents = contents;
    }

    void addNet(List<String> chain, XmlElement net) {
        if (chain.isEmpty()) {
            unplaced.add(net);
        } else {
            branch(chain).nets.add(net);
        }
    }

    void addGpu(List<String> chain, XmlElement gpu) {
        branch(chain).gpu = gpu;
    }

    private Branch branch(List<String> chain) {
        String device = chain.get(chain.size() - 1);
        List<String> path = new ArrayList<>(PciDevices.switchesAbove(chain));
        path.add(device);
        Branch at = null;
        for (String busId : path) {
            int place = chain.indexOf(busId);
            String above = place > 0 ? chain.get(place - 1) : null;
            Map<String, Branch> level = at == null ? tops : at.below;
            at = level.get(busId);
            if (at == null) {
                at = new Branch(busId, above);
                level.put(busId, at);
            }
        }
        int found = pci.numaNode(chain);
        if (numaOfTop.getOrDefault(path.get(0), -1) < 0) {
            numaOfTop.put(path.get(0), found);
        }
        return at;
    }

    /**
     * Adds all collected elements to their NUMA nodes, or to the first node if their node is unknown or does not exist.
     */
    void finish() {
        int first = contents.keySet().iterator().next();
        for (Map.Entry<String, Branch> top : tops.entrySet()) {
            int numa = numaOfTop.get(top.getKey());
            boolean known = contents.containsKey(numa);
            contents.get(known ? numa : first).add(element(top.getValue(), known));
        }
        for (XmlElement net : unplaced) {
            Map<String, String> origin = Map.of("origin", "no pci device");
            contents.get(first).add(new XmlElement(ElementType.NIC, origin, List.of(net), 0));
        }
    }

    private XmlElement element(Branch branch, boolean numaKnown) {
        List<XmlElement> children = new ArrayList<>();
        for (Branch below : branch.below.values()) {
            children.add(element(below, numaKnown));
        }
        if (branch.gpu != null) {
            children.add(branch.gpu);
        }
        if (!branch.nets.isEmpty()) {
            children.add(new XmlElement(ElementType.NIC, Map.of(), branch.nets, 0));
        }
        return new XmlElement(ElementType.PCI, pci.attributes(branch.busId, branch.above, numaKnown), children, 0);
    }
}
