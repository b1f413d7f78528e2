package io.jccl.topology;

import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The names of attributes and elements in a host description that JCCL does not know. */
final class UnknownNames {

    private static final Logger LOG = LoggerFactory.getLogger(UnknownNames.class);
    private static final int MAX_LISTED = 20;

    /** Every rank of a process reads the file: its warning is logged once. */
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    private final Set<String> attributes = new TreeSet<>();
    private final Set<String> elements = new TreeSet<>();

    private UnknownNames() {}

    /**
     * Logs one warning that lists all such names; none where there are none, or where this process has logged it before.
     *
     * @param source what to call the description
     */
    static void warn(XmlElement system, String source) {
        UnknownNames names = new UnknownNames();
        names.collect(system);
        if (names.attributes.isEmpty() && names.elements.isEmpty()) {
            return;
        }
        String warning = "topology=" + source + " attributes=" + list(names.attributes) + " elements="
                + list(names.elements) + ": unknown; they are kept for writing and not used. Correct what is misspelt";
        if (LOGGED.add(warning)) {
            LOG.warn(warning);
        }
    }

    private void collect(XmlElement element) {
        element.attributes().keySet().stream()
                .filter(name -> element.type().rule(name) == null)
                .forEach(name -> attributes.add(element.tag() + "." + name));
        element.children().forEach(this::collect);
        element.unknown().forEach(unknown -> elements.add(unknown.tag()));
    }

    private static String list(Set<String> names) {
        String more = names.size() > MAX_LISTED ? ", and " + (names.size() - MAX_LISTED) + " more]" : "]";
        return names.stream().limit(MAX_LISTED).map(XmlElement::printable).collect(Collectors.joining(", ", "[", more));
    }
}
