package io.jccl.cli.perf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Results of an earlier run, as {@code --json} wrote them, that later ones are compared with. */
final class Baseline {

    /** Which rows are comparable. */
    private record Key(String collective, String backend, int ranks, long bytes, String type, String op) {}

    private record Medians(Double outOfPlaceUs, Double inPlaceUs) {}

    private final Path file;
    private final double tolerancePercent;
    private final Map<Key, Medians> medians = new HashMap<>();
    private final List<String> regressions = new ArrayList<>();
    private int compared;

    private Baseline(Path file, double tolerancePercent) {
        this.file = file;
        this.tolerancePercent = tolerancePercent;
    }

    /**
     * Reads a file of JSON lines.
     *
     * @throws IllegalArgumentException if it cannot be read or is not such a file
     */
    static Baseline read(Path file, double tolerancePercent) {
        Baseline baseline = new Baseline(file, tolerancePercent);
        ObjectMapper mapper = new ObjectMapper();
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "baseline=" + file + ": cannot be read (" + e + "); name a file that " + "jccl perf --json wrote",
                    e);
        }
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).isBlank()) {
                baseline.add(mapper, lines.get(i), i + 1);
            }
        }
        return baseline;
    }

    private void add(ObjectMapper mapper, String line, int number) {
        try {
            JsonNode row = mapper.readTree(line);
            Key key = new Key(
                    row.required("collective").asText(),
                    row.required("backend").asText(),
                    row.required("ranks").asInt(),
                    row.required("bytes").asLong(),
                    row.required("type").asText(),
                    row.required("op").asText());
            medians.put(key, new Medians(median(row.required("out_of_place")), median(row.required("in_place"))));
        } catch (IOException | IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "baseline=" + file + " line=" + number + ": not a line that jccl perf " + "--json wrote ("
                            + e.getMessage().lines().findFirst().orElse("") + ")",
                    e);
        }
    }

    private static Double median(JsonNode side) {
        JsonNode value = side.required("p50_us");
        return value.isNull() ? null : (Double) value.asDouble();
    }

    /** Compares a row with its counterpart, if there is one. */
    void compare(PerfRow row) {
        Medians before =
                medians.get(new Key(row.collective(), row.backend(), row.ranks(), row.bytes(), row.type(), row.op()));
        if (before != null) {
            compare(row, "out of place", before.outOfPlaceUs, row.outOfPlace().p50Us());
            compare(row, "in place", before.inPlaceUs, row.inPlace().p50Us());
        }
    }

    private void compare(PerfRow row, String placement, Double before, Double now) {
        if (before == null || now == null) {
            return;
        }
        compared++;
        if (now > before * (1 + tolerancePercent / 100)) {
            regressions.add(String.format(
                    Locale.ROOT,
                    "%s bytes=%d %s: median %.3f us, baseline %.3f us: %.0f %% slower, tolerance %.0f %%",
                    row.collective(),
                    row.bytes(),
                    placement,
                    now,
                    before,
                    (now / before - 1) * 100,
                    tolerancePercent));
        }
    }

    /** What is slower than it may be, a sentence each. */
    List<String> regressions() {
        return regressions;
    }

    /** How many medians had a counterpart. */
    int compared() {
        return compared;
    }

    Path file() {
        return file;
    }
}
