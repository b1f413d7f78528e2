package io.jccl.cli.perf;

import io.jccl.cli.output.OutputFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Where the results of a run go beside the table, and what they are compared with.
 *
 * @param json where JSON lines go; {@code -} for standard output
 * @param csv where comma-separated values go; {@code -} for standard output
 * @param plot where the plot goes
 * @param earlier results of earlier runs, as {@code --json} wrote them
 * @param tolerancePercent how much slower than an earlier run is no regression yet
 */
record Outputs(
        Optional<String> json, Optional<String> csv, Optional<Path> plot, List<Path> earlier, double tolerancePercent) {

    /** No output. */
    static final Outputs NONE = new Outputs(Optional.empty(), Optional.empty(), Optional.empty(), List.of(), 0);

    Outputs {
        earlier = List.copyOf(earlier);
        Map<Path, String> options = new HashMap<>();
        csv.ifPresent(file -> requireOther(options, "csv", Path.of(file)));
        plot.ifPresent(file -> requireOther(options, "plot", file));
        // The earlier run is read before: --json may replace it.
        earlier.forEach(file -> requireOther(new HashMap<>(options), "compare", file));
        json.ifPresent(file -> requireOther(options, "json", Path.of(file)));
    }

    private static void requireOther(Map<Path, String> options, String option, Path file) {
        String other = options.putIfAbsent(file.toAbsolutePath().normalize(), option);
        if (other != null) {
            throw new IllegalArgumentException(other + "=" + file + " " + option + "=" + file
                    + ": expected a file of its own for each; name another with --" + other);
        }
    }

    /**
     * Checks before anything is measured that all can be written and read.
     *
     * @throws IllegalArgumentException if something cannot
     */
    void requireUsable() {
        json.filter(OutputFile::isFile).ifPresent(file -> OutputFile.requireWritable("json", Path.of(file)));
        csv.filter(OutputFile::isFile).ifPresent(file -> OutputFile.requireWritable("csv", Path.of(file)));
        plot.ifPresent(file -> OutputFile.requireWritable("plot", file));
        earlier.forEach(EarlierRun::read);
    }

    /** Whether standard output carries JSON or CSV, so that there is no table. */
    boolean onStandardOutput() {
        return Stream.of(json, csv).flatMap(Optional::stream).anyMatch(OutputFile.STANDARD_OUTPUT::equals);
    }
}
