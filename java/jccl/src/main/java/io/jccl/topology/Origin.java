package io.jccl.topology;

import java.util.List;
import java.util.Map;

/** The texts of the attribute {@code origin}, which says where values come from that were not simply read. */
final class Origin {

    private Origin() {}

    /** Sets it to "SOURCE without A B"; where nothing is missing there is none. */
    static void put(Map<String, String> attributes, String source, List<String> missing) {
        if (!missing.isEmpty()) {
            attributes.put("origin", source + " without " + String.join(" ", missing));
        }
    }
}
