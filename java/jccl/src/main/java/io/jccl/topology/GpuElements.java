package io.jccl.topology;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Gives the GPUs of a machine description to ranks. */
final class GpuElements {

    private GpuElements() {}

    /**
     * The description with the rank of each GPU that one owns.
     *
     * @param ranks by the bus ids of their GPUs, in lower case
     * @return empty where the GPU of a rank is not in the description
     */
    static Optional<XmlElement> add(XmlElement system, Map<String, Integer> ranks) {
        Set<String> left = new HashSet<>(ranks.keySet());
        XmlElement filled = fill(system, "", ranks, left);
        return left.isEmpty() ? Optional.of(filled) : Optional.empty();
    }

    private static XmlElement fill(XmlElement element, String busId, Map<String, Integer> ranks, Set<String> left) {
        if (element.type() == ElementType.GPU && ranks.containsKey(busId)) {
            left.remove(busId);
            Map<String, String> attributes = new LinkedHashMap<>(element.attributes());
            attributes.put("rank", Integer.toString(ranks.get(busId)));
            return new XmlElement(ElementType.GPU, attributes, element.children(), element.line());
        }
        String here =
                element.text("busid").map(text -> text.toLowerCase(Locale.ROOT)).orElse(busId);
        List<XmlElement> children = element.children().stream()
                .map(child -> fill(child, here, ranks, left))
                .toList();
        return element.withChildren(children);
    }
}
