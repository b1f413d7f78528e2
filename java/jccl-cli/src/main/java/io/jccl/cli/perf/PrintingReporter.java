package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.Progress;
import io.jccl.cli.output.Terminal;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/** Prints a run: the table for people, JSON lines for programs, progress and complaints on standard error. */
final class PrintingReporter implements Reporter, AutoCloseable {

    private final PrintStream human;
    private final PrintStream err;
    private final PrintStream json;
    private final boolean ownsJson;
    private final Optional<Baseline> baseline;
    private final PerfTable table;
    private final Progress progress;
    private long bytes;
    private double busbwSum;
    private int busbwCount;
    private boolean checked;

    /**
     * Opens what is to be written and reads what is to be compared with.
     *
     * @throws IllegalArgumentException if a file cannot be read or written
     */
    PrintingReporter(PerfOptions options, PrintStream out, PrintStream err) {
        this.err = err;
        this.human = options.jsonOnStandardOutput() ? null : out;
        this.ownsJson = options.json().isPresent() && !options.jsonOnStandardOutput();
        this.baseline = options.baseline().map(file -> Baseline.read(file, options.tolerancePercent()));
        this.json = options.jsonOnStandardOutput()
                ? out
                : options.json().map(PrintingReporter::open).orElse(null);
        this.table = new PerfTable(
                Terminal.colours(Terminal.Stream.OUT), options.type().label());
        this.progress = new Progress(err, Terminal.isTerminal(Terminal.Stream.ERR));
        this.checked = options.check();
    }

    private static PrintStream open(String file) {
        try {
            return new PrintStream(Files.newOutputStream(Path.of(file)), true, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "json=" + file + ": cannot be written (" + e + "); name a file in a writable directory, or - ", e);
        }
    }

    @Override
    public void begin(PerfOptions options, Communicator communicator, String transport, int sizes) {
        progress.begin(options.collective().label(), sizes);
        if (human == null) {
            return;
        }
        human.printf(
                Locale.ROOT,
                "# jccl perf %s: ranks %d, backend %s, transport %s, memory %s, iterations %s, check %s%n",
                options.collective().label(),
                communicator.size(),
                options.backend(),
                transport,
                options.memory().label(),
                options.iterations() > 0 ? Integer.toString(options.iterations()) : "by time",
                options.check() ? "on" : "off");
        human.print(table.head());
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
        if (json != null) {
            json.println(row.toJson());
            json.flush();
        }
        if (human != null) {
            human.print(table.row(row));
            human.flush();
        }
        baseline.ifPresent(before -> before.compare(row));
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
        baseline.ifPresent(this::judge);
    }

    private void judge(Baseline before) {
        before.regressions().forEach(text -> err.println("jccl perf: regression: " + text));
        if (before.compared() == 0) {
            err.println("jccl perf: baseline=" + before.file()
                    + ": has no line with this collective, type, operation, number of ranks and any of these sizes; "
                    + "nothing was compared");
        } else if (human != null) {
            human.println("# compared with " + before.file() + ": " + before.compared() + " medians, "
                    + before.regressions().size() + " regressions");
        }
    }

    @Override
    public boolean hasRegressed() {
        return baseline.filter(before -> !before.regressions().isEmpty()).isPresent();
    }

    @Override
    public void close() {
        if (ownsJson) {
            json.close();
        }
    }
}
