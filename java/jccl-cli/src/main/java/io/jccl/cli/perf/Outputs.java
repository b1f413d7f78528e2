package io.jccl.cli.perf;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

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

    private static final String STANDARD_OUTPUT = "-";

    /** No output. */
    static final Outputs NONE = new Outputs(Optional.empty(), Optional.empty(), Optional.empty(), List.of(), 0);

    Outputs {
        earlier = List.copyOf(earlier);
        if (isStandardOutput(json) && isStandardOutput(csv)) {
            throw new IllegalArgumentException(
                    "json=- csv=-: standard output carries one of them; name a file for the other");
        }
    }

    /** Whether standard output carries JSON or CSV, so that there is no table. */
    boolean onStandardOutput() {
        return isStandardOutput(json) || isStandardOutput(csv);
    }

    private static boolean isStandardOutput(Optional<String> file) {
        return file.filter(STANDARD_OUTPUT::equals).isPresent();
    }
}
