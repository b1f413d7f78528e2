package io.jccl.topology;

import io.jccl.config.LoggedOnce;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Collects the names of attributes and elements in a host description that JCCL does not know. */
final class UnknownNames {

    private static final int MAX_LISTED = 20;

    private final Set<String> attributes = new TreeSet<>();
    private final Set<String> elements = new TreeSet<>();

    private UnknownNames() {}

    /**
     * Logs one warning that lists the unknown names, unless there are none or this process has logged the warning
     * before.
     *
     * @param source the name of the description in the warning
     */
    static void warn(XmlElement system, String source) {
        UnknownNames names = new UnknownNames();
        names.collect(system);
        if (names.attributes.isEmpty() && names.elements.isEmpty()) {
            return;
        }
        LoggedOnce.warn(
                UnknownNames.class,
                "topology=" + source + " attributes=" + list(names.attributes) + " elements=" + list(names.elements)
                        + ": unknown; they are kept for writing and not used. Correct what is misspelt");
    }

    private void collect(XmlElement element) {
        for (String name : element.attributes().keySet()) {
            if (element.type().rule(name) == null) {
                attributes.add(element.tag() + "." + name);
            }
        }
        for (XmlElement child : element.children()) {
            collect(child);
        }
        for (XmlElement unknown : element.unknown()) {
            elements.add(unknown.tag());
        }
    }

    private static String list(Set<String> names) {
        String more = names.size() > MAX_LISTED ? ", and " + (names.size() - MAX_LISTED) + " more]" : "]";
        return names.stream().limit(MAX_LISTED).map(XmlElement::printable).collect(Collectors.joining(", ", "[", more));
    }
}
