package io.jccl.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Adds ranks that work on host memory to a host description. */
public final class HostElements {

    private HostElements() {}

    /**
     * Returns the description with an endpoint for each rank on its NUMA node, or on the first node if the rank is
     * bound to none.
     *
     * @throws TopologyException if there is no {@code cpu} element to put them on
     */
    public static XmlElement add(XmlElement system, List<HostRank> ranks) {
        List<XmlElement> cpus = system.children(ElementType.CPU);
        if (cpus.isEmpty()) {
            throw new TopologyException(system.where() + ": no cpu; expected at least one for the ranks to run on");
        }
        List<List<XmlElement>> contents = new ArrayList<>();
        for (XmlElement cpu : cpus) {
            contents.add(new ArrayList<>(cpu.children()));
        }
        for (HostRank rank : ranks) {
            int place = placeOf(cpus, rank.numaNode());
            contents.get(Math.max(0, place)).add(element(rank, place >= 0));
        }
        List<XmlElement> filled = new ArrayList<>();
        for (int i = 0; i < cpus.size(); i++) {
            filled.add(cpus.get(i).withChildren(contents.get(i)));
        }
        return system.withChildren(filled);
    }

    /** Returns true if a description assigns ranks to its endpoints. */
    static boolean namesRank(XmlElement element) {
        return element.integer("rank", -1) >= 0 || element.children().stream().anyMatch(HostElements::namesRank);
    }

    /**
     * Returns the hardware alone: without the ranks of the job that wrote the description, and with each GPU only once.
     */
    static XmlElement withoutRanks(XmlElement element) {
        List<XmlElement> gpus = element.children(ElementType.GPU);
        Optional<XmlElement> linked =
                gpus.stream().filter(gpu -> !gpu.children().isEmpty()).findFirst();
        XmlElement only = linked.orElse(gpus.isEmpty() ? null : gpus.get(0));
        List<XmlElement> children = new ArrayList<>();
        for (XmlElement child : element.children()) {
            if (child == only || child.type() != ElementType.HOST && child.type() != ElementType.GPU) {
                children.add(withoutRanks(child));
            }
        }
        children.addAll(element.unknown());
        Map<String, String> attributes = new LinkedHashMap<>(element.attributes());
        attributes.remove("rank");
        return new XmlElement(element.type(), attributes, children, element.line());
    }

    private static int placeOf(List<XmlElement> cpus, int numaNode) {
        for (int i = 0; i < cpus.size(); i++) {
            if (numaNode >= 0 && cpus.get(i).integer("numaid", -1) == numaNode) {
                return i;
            }
        }
        return -1;
    }

    private static XmlElement element(HostRank rank, boolean placed) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("rank", Integer.toString(rank.rank()));
        attributes.put("bw", Double.toString(LinkSpeeds.HOST_MEMORY_GBPS));
        attributes.put("origin", placed ? "bw assumed" : "bw assumed; bound to no numa node");
        return new XmlElement(ElementType.HOST, attributes, List.of(), 0);
    }
}
