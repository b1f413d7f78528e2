package io.jccl.topology;

import java.util.List;
import java.util.Map;

/** Writes the attribute {@code origin}, which names the source of values that were not simply read from the system. */
final class Origin {

    private Origin() {}

    /**
     * Sets the attribute to {@code SOURCE without A B}, where A and B are the missing values; sets nothing if none is
     * missing.
     */
    static void put(Map<String, String> attributes, String source, List<String> missing) {
        if (!missing.isEmpty()) {
            attributes.put("origin", source + " without " + String.join(" ", missing));
        }
    }
}
