package io.jccl.topology;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Assigns ranks to the GPUs of a host description. Each rank becomes a {@code gpu} element; ranks that share a GPU
 * become siblings.
 */
final class GpuElements {

    private GpuElements() {}

    /**
     * Returns the description with the ranks of each GPU that one or several ranks own.
     *
     * @param ranks the ranks on each GPU, by its bus id in lower case
     * @return empty if the GPU of a rank is not in the description
     */
    static Optional<XmlElement> add(XmlElement system, Map<String, List<Integer>> ranks) {
        Set<String> left = new HashSet<>(ranks.keySet());
        XmlElement filled = fill(system, "", ranks, left);
        return left.isEmpty() ? Optional.of(filled) : Optional.empty();
    }

    private static XmlElement fill(
            XmlElement element, String busId, Map<String, List<Integer>> ranks, Set<String> left) {
        String here =
                element.text("busid").map(text -> text.toLowerCase(Locale.ROOT)).orElse(busId);
        List<XmlElement> children = new ArrayList<>();
        for (XmlElement child : element.children()) {
            if (child.type() != ElementType.GPU) {
                children.add(fill(child, here, ranks, left));
            } else if (left.remove(here)) {
                children.addAll(ofRanks(child, ranks.get(here)));
            } else {
                children.add(child);
            }
        }
        return element.withChildren(children);
    }

    /** Returns one element per rank. Only the first element lists the GPU's links, which all its ranks use. */
    private static List<XmlElement> ofRanks(XmlElement gpu, List<Integer> ranks) {
        List<XmlElement> elements = new ArrayList<>();
        for (int rank : ranks) {
            Map<String, String> attributes = new LinkedHashMap<>(gpu.attributes());
            attributes.put("rank", Integer.toString(rank));
            XmlElement ranked = new XmlElement(ElementType.GPU, attributes, gpu.unknown(), gpu.line());
            elements.add(elements.isEmpty() ? ranked.withChildren(gpu.children()) : ranked);
        }
        return elements;
    }
}
