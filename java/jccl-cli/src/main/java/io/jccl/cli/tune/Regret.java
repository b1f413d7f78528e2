package io.jccl.cli.tune;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.TextTable;
import io.jccl.tuning.Choice;
import io.jccl.tuning.CommunicatorShape;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Tells, for each size, how much slower the automatic choice is than the best way that a trial found. */
final class Regret {

    private static final int PERCENT = 100;

    /**
     * One size.
     *
     * @param chosen the name of the way that the cost model chooses
     * @param chosenMicros what the automatic choice took
     * @param best the name of the fastest way
     * @param bestMicros what that took
     * @param percent how much slower the automatic choice is, by the median of the rounds' ratios
     */
    record Row(long bytes, String chosen, double chosenMicros, String best, double bestMicros, double percent) {}

    private Regret() {}

    /** The rows of a trial whose last way is the automatic choice. */
    static List<Row> of(TunedMachine machine, Trial trial, List<Times> times) {
        CommunicatorShape shape = machine.shape(trial.transport(), trial.ranks(), 1);
        int automatic = trial.ways().size() - 1;
        List<Row> rows = new ArrayList<>();
        for (long bytes : trial.sizes()) {
            List<Times> ofSize =
                    times.stream().filter(some -> some.bytes() == bytes).toList();
            Times chosen = ofSize.stream()
                    .filter(some -> some.way() == automatic)
                    .findFirst()
                    .orElseThrow();
            Times best = ofSize.stream()
                    .filter(some -> some.way() != automatic)
                    .min(Comparator.comparingDouble(Times::median))
                    .orElseThrow();
            Choice choice = machine.choice(shape, trial.ways().get(automatic), trial.collective(), bytes);
            rows.add(new Row(
                    bytes,
                    choice.algorithm().label() + "/" + choice.protocol().label(),
                    chosen.median(),
                    trial.ways().get(best.way()).name(),
                    best.median(),
                    (ratio(chosen, best) - 1) * PERCENT));
        }
        return rows;
    }

    /** Rounds are compared one by one: both ways met the same mood of the machine in each. */
    private static double ratio(Times one, Times other) {
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < Math.min(one.micros().size(), other.micros().size()); round++) {
            ratios.add(one.micros().get(round) / other.micros().get(round));
        }
        return new Times(one.way(), one.bytes(), ratios).median();
    }

    /** The rows as a table; where the automatic choice is the best way, what remains is noise. */
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
