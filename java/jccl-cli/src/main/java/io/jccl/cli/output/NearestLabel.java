package io.jccl.cli.output;

import io.jccl.config.NearestName;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Which label one that is unknown is nearest to. */
public final class NearestLabel {

    private NearestLabel() {}

    /** The end of a message; empty where none is near. Underscores do not count: MPI and Java have none. */
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
