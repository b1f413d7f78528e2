package io.jccl.cli.perf;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.Progress;
import io.jccl.cli.output.Terminal;
import java.io.PrintStream;
import java.util.List;
import java.util.Locale;

/**
 * Prints a run for people: the table on standard output unless JSON or CSV goes there; progress, errors and regressions
 * on standard error.
 */
final class PrintingReporter implements Reporter {

    private final PrintStream human;
    private final PrintStream err;
    private final List<Baseline> baselines;
    private final PerfTable table;
    private final Progress progress;
    private final boolean checked;
    private long bytes;
    private double busbwSum;
    private int busbwCount;

    PrintingReporter(PerfOptions options, List<EarlierRun> earlier, PrintStream out, PrintStream err) {
        this.err = err;
        this.human = options.outputs().onStandardOutput() ? null : out;
        this.baselines = earlier.stream()
                .map(run -> new Baseline(run, options.mode(), options.outputs().tolerancePercent()))
                .toList();
        this.table = new PerfTable(
                Terminal.colours(Terminal.Stream.OUT), options.type().label());
        this.progress = new Progress(err, Terminal.isTerminal(Terminal.Stream.ERR));
        this.checked = options.check();
    }

    @Override
    public void begin(PerfOptions options, RunInfo run, int sizes) {
        progress.begin(options.collective().label(), sizes);
        if (human == null) {
            return;
        }
        human.print(PerfHeader.of(options, run));
        human.print(PerfTable.legend(options.collective(), run.placement().ranks()));
        human.print(options.peer().isPresent() ? table.headWithPeer() : table.head());
        human.flush();
    }

    @Override
    public void measuring(long bytes) {
        this.bytes = bytes;
        progress.step(ByteSizes.format(bytes));
    }

    @Override
    public void row(PerfRow row) {
        progress.clear();
        if (human != null) {
            human.print(table.row(row));
            human.flush();
        }
        baselines.forEach(before -> before.compare(row));
        addToAverage(row.outOfPlace());
        addToAverage(row.inPlace());
    }

    private void addToAverage(PerfRow.Side side) {
        if (side.busbwGBps() != null) {
            busbwSum += side.busbwGBps();
            busbwCount++;
        }
    }

    @Override
    public void complain(String text) {
        progress.clear();
        err.println("jccl perf: bytes=" + bytes + ": " + text);
    }

    @Override
    public void end(long wrong) {
        progress.clear();
        if (human != null) {
            human.printf(
                    Locale.ROOT,
                    "# wrong elements: %s%n# average bus bandwidth: %.2f GB/s%n",
                    checked ? Long.toString(wrong) : "not checked (--check)",
                    busbwSum / Math.max(1, busbwCount));
            human.flush();
        }
        baselines.forEach(this::judge);
    }

    private void judge(Baseline before) {
        String which = baselines.size() > 1 ? " (" + before.file() + ")" : "";
        before.regressions().forEach(text -> err.println("jccl perf: regression: " + text + which));
        if (before.compared() == 0) {
            err.println("jccl perf: baseline=" + before.file()
                    + ": has no line with this collective, type, operation, mode, number of ranks and any of these sizes; "
                    + "nothing was compared");
        } else if (human != null) {
            human.print(before.table());
            human.println("# compared with " + before.file() + ": " + before.compared() + " medians, "
                    + before.regressions().size() + " regressions");
        }
    }

    @Override
    public boolean hasRegressed() {
        return baselines.stream().anyMatch(before -> !before.regressions().isEmpty());
    }
}
