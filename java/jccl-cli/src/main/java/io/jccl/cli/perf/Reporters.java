package io.jccl.cli.perf;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/** Passes the events of a run to all its reporters: the one for people and those that write the requested files. */
final class Reporters implements Reporter {

    private final List<Reporter> all = new ArrayList<>();

    /**
     * Reads the earlier runs and opens the output files.
     *
     * @throws IllegalArgumentException if a file cannot be read
     * @throws java.io.UncheckedIOException if a file cannot be written
     */
    Reporters(PerfOptions options, PrintStream out, PrintStream err) {
        Outputs outputs = options.outputs();
        List<EarlierRun> earlier =
                outputs.earlier().stream().map(EarlierRun::read).toList();
        all.add(new PrintingReporter(options, earlier, out, err));
        outputs.plot().ifPresent(file -> all.add(new PlotReporter(file, earlier)));
        outputs.json().ifPresent(file -> all.add(LineReporter.json(file, out)));
        outputs.csv().ifPresent(file -> all.add(LineReporter.csv(file, out)));
    }

    @Override
    public void begin(PerfOptions options, RunInfo run, int sizes) {
        all.forEach(reporter -> reporter.begin(options, run, sizes));
    }

    @Override
    public void measuring(long bytes) {
        all.forEach(reporter -> reporter.measuring(bytes));
    }

    @Override
    public void row(PerfRow row) {
        all.forEach(reporter -> reporter.row(row));
    }

    @Override
    public void complain(String text) {
        all.forEach(reporter -> reporter.complain(text));
    }

    @Override
    public void end(long wrong) {
        all.forEach(reporter -> reporter.end(wrong));
    }

    @Override
    public boolean hasRegressed() {
        return all.stream().anyMatch(Reporter::hasRegressed);
    }

    @Override
    public void close() {
        all.forEach(Reporter::close);
    }
}
