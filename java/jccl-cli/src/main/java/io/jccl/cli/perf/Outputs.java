package io.jccl.cli.perf;

import io.jccl.cli.output.OutputFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The outputs of a run in addition to the table, and the earlier runs with which it is compared.
 *
 * @param json file for JSON lines; {@code -} for standard output
 * @param csv file for comma-separated values; {@code -} for standard output
 * @param plot file for the plot
 * @param earlier results of earlier runs, as {@code --json} wrote them
 * @param tolerancePercent percentage by which a median may be slower than in an earlier run without being a regression
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
        // An earlier run's file may also be that of --json, which is opened only after the earlier runs have been read.
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
     * Checks, before a measurement begins, that all outputs can be written and all earlier runs can be read.
     *
     * @throws IllegalArgumentException if one of them cannot
     */
    void requireUsable() {
        json.filter(OutputFile::isFile).ifPresent(file -> OutputFile.requireWritable("json", Path.of(file)));
        csv.filter(OutputFile::isFile).ifPresent(file -> OutputFile.requireWritable("csv", Path.of(file)));
        plot.ifPresent(file -> OutputFile.requireWritable("plot", file));
        earlier.forEach(EarlierRun::read);
    }

    /** Returns true if JSON or CSV goes to standard output, so that there is no table. */
    boolean onStandardOutput() {
        return Stream.of(json, csv).flatMap(Optional::stream).anyMatch(OutputFile.STANDARD_OUTPUT::equals);
    }
}
