package io.jccl.cli.tune;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.TextTable;
import io.jccl.tuning.Choice;
import io.jccl.tuning.CommunicatorShape;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** How much slower, for each size, the automatic choice is than the best configuration of a run. */
final class Slowdown {

    private static final int PERCENT = 100;

    /**
     * One size.
     *
     * @param chosen the name of the configuration that the cost model chooses
     * @param chosenMicros what the automatic choice took
     * @param best the name of the fastest configuration
     * @param bestMicros what that took
     * @param percent how much slower the automatic choice is, by the median of the rounds' ratios
     */
    record Row(long bytes, String chosen, double chosenMicros, String best, double bestMicros, double percent) {}

    private Slowdown() {}

    /** The rows of a run whose last configuration is the automatic choice. */
    static List<Row> of(TunedHost host, MeasurementRun run, List<Times> times) {
        CommunicatorShape shape = host.shape(run.transport(), run.ranks(), 1);
        int automatic = run.configurations().size() - 1;
        List<Row> rows = new ArrayList<>();
        for (long bytes : run.sizes()) {
            List<Times> ofSize =
                    times.stream().filter(some -> some.bytes() == bytes).toList();
            Times chosen = ofSize.stream()
                    .filter(some -> some.configuration() == automatic)
                    .findFirst()
                    .orElseThrow();
            Times best = ofSize.stream()
                    .filter(some -> some.configuration() != automatic)
                    .min(Comparator.comparingDouble(Times::median))
                    .orElseThrow();
            Choice choice = host.choice(shape, run.configurations().get(automatic), run.collective(), bytes);
            rows.add(new Row(
                    bytes,
                    choice.algorithm().label() + "/" + choice.protocol().label(),
                    chosen.median(),
                    run.configurations().get(best.configuration()).name(),
                    best.median(),
                    (ratio(chosen, best) - 1) * PERCENT));
        }
        return rows;
    }

    /** Rounds are compared one by one: both configurations met the same noise in each. */
    private static double ratio(Times one, Times other) {
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < Math.min(one.micros().size(), other.micros().size()); round++) {
            ratios.add(one.micros().get(round) / other.micros().get(round));
        }
        return new Times(one.configuration(), one.bytes(), ratios).median();
    }

    /** The rows as a table; where the automatic choice is the best configuration, what remains is noise. */
    static String toText(List<Row> rows) {
        TextTable table = new TextTable("SIZE", "AUTOMATIC", "US", "BEST", "US", "SLOWER BY");
        for (Row row : rows) {
            table.row(
                    ByteSizes.format(row.bytes()),
                    row.chosen(),
                    number(row.chosenMicros()),
                    row.best(),
                    number(row.bestMicros()),
                    String.format(
                            Locale.ROOT,
                            "%.0f %%%s",
                            row.percent(),
                            row.chosen().equals(row.best()) ? " (same)" : ""));
        }
        return table.toString();
    }

    private static String number(double micros) {
        return String.format(Locale.ROOT, micros < 10 ? "%.3f" : "%.1f", micros);
    }
}
