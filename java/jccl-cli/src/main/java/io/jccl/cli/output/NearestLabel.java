package io.jccl.cli.output;

import io.jccl.config.NearestName;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Finds the known label that is most similar to an unknown one. */
public final class NearestLabel {

    private NearestLabel() {}

    /**
     * Returns a "did you mean" as the end of a message; empty if no label is similar. Ignores underscores and hyphens,
     * because users write the names that collectives have in MPI and Java, which contain neither.
     */
    public static String suggestion(String given, List<String> known) {
        Map<String, String> labels = new LinkedHashMap<>();
        known.forEach(label -> labels.put(plain(label), label));
        return NearestName.nearest(plain(given), labels.keySet())
                .map(near -> "; did you mean " + labels.get(near) + "?")
                .orElse("");
    }

    private static String plain(String label) {
        return label.trim().toLowerCase(Locale.ROOT).replaceAll("[-_]", "");
    }
}
