package io.jccl.cli.perf;

import io.jccl.cli.output.OutputFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Draws a run together with earlier runs when it ends. */
final class PlotReporter implements Reporter {

    private final Path file;
    private final List<EarlierRun> earlier;
    private final List<PerfRow> rows = new ArrayList<>();
    private PerfOptions options;
    private RunInfo run;

    PlotReporter(Path file, List<EarlierRun> earlier) {
        this.file = file;
        this.earlier = List.copyOf(earlier);
    }

    @Override
    public void begin(PerfOptions options, RunInfo run, int sizes) {
        this.options = options;
        this.run = run;
    }

    @Override
    public void row(PerfRow row) {
        rows.add(row);
    }

    @Override
    public void end(long wrong) {
        try {
            Files.writeString(file, PerfPlot.draw(title(), about(), Curve.of(run, rows, earlier)));
        } catch (IOException e) {
            throw OutputFile.unwritable("plot", file.toAbsolutePath().toString(), e);
        }
    }

    private String title() {
        return options.collective().label() + ", " + run.placement().text();
    }

    private List<String> about() {
        PerfRow row = rows.get(0);
        return List.of(
                String.join(
                        ", ",
                        row.type() + (options.collective().reduces() ? " " + row.op() : ""),
                        "backend " + row.backend(),
                        "transport " + row.transport(),
                        "memory " + options.memory().label(),
                        "out of place"),
                "JCCL " + run.version() + " on " + run.host().text());
    }
}
