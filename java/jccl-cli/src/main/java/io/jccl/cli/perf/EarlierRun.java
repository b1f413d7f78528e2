package io.jccl.cli.perf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The results of one or more earlier runs, as {@code --json} wrote them.
 *
 * @param file the file from which they were read
 * @param rows in the file's order
 */
record EarlierRun(Path file, List<Row> rows) {

    /**
     * A row of the file.
     *
     * @param collective label of the collective
     * @param backend backend that executed operations
     * @param transport transports in use
     * @param ranks number of ranks
     * @param bytes size
     * @param type label of the type
     * @param op label of the operation
     * @param outOfPlace results with two buffers
     * @param inPlace results with one buffer
     * @param date when the run began; empty if the file does not say it
     * @param mode how operations followed one another; they were awaited if the file does not say it
     */
    record Row(
            String collective,
            String backend,
            String transport,
            int ranks,
            long bytes,
            String type,
            String op,
            PerfRow.Side outOfPlace,
            PerfRow.Side inPlace,
            Optional<String> date,
            String mode) {}

    EarlierRun {
        rows = List.copyOf(rows);
    }

    /**
     * Reads a file of JSON lines.
     *
     * @throws IllegalArgumentException if the file cannot be read, or {@code --json} did not write it
     */
    static EarlierRun read(Path file) {
        ObjectMapper mapper = new ObjectMapper();
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "baseline=" + file + ": cannot be read (" + e + "); name a file that jccl perf --json wrote", e);
        }
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).isBlank()) {
                rows.add(row(mapper, file, lines.get(i), i + 1));
            }
        }
        return new EarlierRun(file, rows);
    }

    private static Row row(ObjectMapper mapper, Path file, String line, int number) {
        try {
            JsonNode row = mapper.readTree(line);
            return new Row(
                    row.required("collective").asText(),
                    row.required("backend").asText(),
                    row.required("transport").asText(),
                    row.required("ranks").asInt(),
                    row.required("bytes").asLong(),
                    row.required("type").asText(),
                    row.required("op").asText(),
                    side(row.required("out_of_place")),
                    side(row.required("in_place")),
                    Optional.ofNullable(row.path("run").path("date").textValue()),
                    row.path("run").path("mode").asText(Mode.AWAIT.label()));
        } catch (IOException | IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "baseline=" + file + " line=" + number + ": not a line that jccl perf --json wrote ("
                            + Causes.describe(e).lines().findFirst().orElse("") + ")",
                    e);
        }
    }

    private static PerfRow.Side side(JsonNode side) {
        JsonNode wrong = side.required("wrong");
        return new PerfRow.Side(
                number(side, "time_us"),
                number(side, "p50_us"),
                number(side, "p99_us"),
                number(side, "algbw_gbps"),
                number(side, "busbw_gbps"),
                wrong.isNull() ? null : (Long) wrong.asLong());
    }

    private static Double number(JsonNode side, String name) {
        JsonNode value = side.required(name);
        return value.isNull() ? null : (Double) value.asDouble();
    }
}
