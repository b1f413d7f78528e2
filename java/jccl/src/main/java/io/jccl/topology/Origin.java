package io.jccl.topology;

import java.util.List;
import java.util.Optional;

/** The texts of the attribute {@code origin}, which says where values come from that were not simply read. */
final class Origin {

    private Origin() {}

    /** "SOURCE without A B", or empty where nothing is missing. */
    static Optional<String> without(String source, List<String> missing) {
        return missing.isEmpty() ? Optional.empty() : Optional.of(source + " without " + String.join(" ", missing));
    }
}
