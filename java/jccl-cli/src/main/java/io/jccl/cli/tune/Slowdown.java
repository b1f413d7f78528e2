package io.jccl.cli.tune;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.TextTable;
import io.jccl.tuning.Choice;
import io.jccl.tuning.CommunicatorShape;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.DoubleBinaryOperator;

/** Computes, for each size, how much slower the automatic choice is than the best configuration of a run. */
final class Slowdown {

    /**
     * A choice that is slower than the best by at most this counts as good. The order of configurations this close
     * changes between runs.
     */
    static final int GOOD_PERCENT = 10;

    private static final int PERCENT = 100;
    private static final int MAX_NAMED = 10;

    /**
     * One size.
     *
     * @param run the operation, the transport and the ranks, for people
     * @param bytes the size
     * @param chosen name of the configuration that the cost model chooses
     * @param chosenMicros time of the automatic choice
     * @param best name of the fastest configuration
     * @param bestMicros time of the fastest configuration
     * @param percent by how many percent the chosen configuration is slower: the median of the rounds' ratios. A round
     *     times this configuration twice, as the automatic choice and forced, unless the forced one was dropped as too
     *     slow.
     * @param micros time of each configuration, by name
     * @param repeatable in how many halves of the rounds (0 to 2) the best configuration of the other half is good
     */
    record Row(
            String run,
            long bytes,
            String chosen,
            double chosenMicros,
            String best,
            double bestMicros,
            double percent,
            Map<String, Double> micros,
            int repeatable) {

        /** Returns true if the automatic choice is the best configuration, so that any difference is noise. */
        boolean same() {
            return chosen.equals(best);
        }

        boolean isGood() {
            return same() || percent <= GOOD_PERCENT;
        }
    }

    private Slowdown() {}

    /** Returns a title of a run for people: {@code all_gather over shm, 2 ranks}. */
    static String title(MeasurementRun run) {
        return run.collective().label() + " over " + run.title();
    }

    /** Returns the rows of a run whose last configuration is the automatic choice. */
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
            List<Times> forced = ofSize.stream()
                    .filter(some -> some.configuration() != automatic)
                    .toList();
            Times best = best(forced);
            Map<String, Double> micros = new LinkedHashMap<>();
            forced.forEach(some -> micros.put(name(run, some), some.median()));
            String name = name(run, host.choice(shape, run.configurations().get(automatic), run.collective(), bytes));
            rows.add(new Row(
                    title(run),
                    bytes,
                    name,
                    chosen.median(),
                    name(run, best),
                    best.median(),
                    (ratio(withForced(chosen, forced, run, name), best) - 1) * PERCENT,
                    micros,
                    repeatable(forced)));
        }
        return rows;
    }

    private static String name(MeasurementRun run, Times times) {
        return run.configurations().get(times.configuration()).name();
    }

    private static String name(MeasurementRun run, Choice choice) {
        return choice.algorithm().label() + "/"
                + MeasurementPlan.sent(run.transport(), choice.protocol()).label();
    }

    /**
     * Returns the mean of the automatic choice and the forced configuration of the same name. Both execute the same,
     * and their mean has less noise.
     */
    private static Times withForced(Times automatic, List<Times> forced, MeasurementRun run, String name) {
        return forced.stream()
                .filter(some -> name(run, some).equals(name))
                .findFirst()
                .map(same -> byRound(automatic, same, (one, other) -> (one + other) / 2))
                .orElse(automatic);
    }

    /**
     * Returns in how many halves of the rounds, even and odd, the configuration that is best in the other half is good.
     * Even a choice by earlier measurements on this host would not do better.
     */
    private static int repeatable(List<Times> forced) {
        int good = 0;
        for (int half = 0; half < 2; half++) {
            int other = half;
            List<Times> judged = forced.stream().map(some -> some.ofHalf(other)).toList();
            Times best = best(judged);
            int chosen = best(forced.stream()
                            .map(some -> some.ofHalf(1 - other))
                            .toList())
                    .configuration();
            good += judged.stream()
                            .anyMatch(some -> some.configuration() == chosen
                                    && (some == best || (ratio(some, best) - 1) * PERCENT <= GOOD_PERCENT))
                    ? 1
                    : 0;
        }
        return good;
    }

    private static Times best(List<Times> some) {
        return some.stream().min(Comparator.comparingDouble(Times::median)).orElseThrow();
    }

    /** Returns the median of the ratios of two configurations in each round, in which both met the same noise. */
    private static double ratio(Times one, Times other) {
        return byRound(one, other, (a, b) -> a / b).median();
    }

    /**
     * Combines the times of two configurations in each round in which both took part. The result is attributed to the
     * configuration of {@code one}.
     */
    private static Times byRound(Times one, Times other, DoubleBinaryOperator combined) {
        List<Double> values = new ArrayList<>();
        for (int round = 0; round < Math.min(one.micros().size(), other.micros().size()); round++) {
            values.add(combined.applyAsDouble(
                    one.micros().get(round), other.micros().get(round)));
        }
        return new Times(one.configuration(), one.bytes(), values);
    }

    /**
     * Returns the rows as a table. Rows in which the automatic choice is the best configuration are marked "same": the
     * difference between their two times is noise.
     */
    static String toText(List<Row> rows) {
        TextTable table = new TextTable("SIZE", "AUTOMATIC", "US", "BEST", "US", "SLOWER BY");
        for (Row row : rows) {
            table.row(
                    ByteSizes.format(row.bytes()),
                    row.chosen(),
                    number(row.chosenMicros()),
                    row.best(),
                    number(row.bestMicros()),
                    String.format(Locale.ROOT, "%.0f %%%s", row.percent(), row.same() ? " (same)" : ""));
        }
        return table.toString();
    }

    /**
     * Returns the time of each configuration as a table, in microseconds. A configuration that was dropped as too slow
     * has the time of its earlier rounds.
     */
    static String formsToText(List<Row> rows) {
        TreeSet<String> names = new TreeSet<>();
        rows.forEach(row -> names.addAll(row.micros().keySet()));
        List<String> head = new ArrayList<>(List.of("SIZE"));
        head.addAll(names);
        TextTable table = new TextTable(head.toArray(String[]::new));
        for (Row row : rows) {
            List<String> line = new ArrayList<>(List.of(ByteSizes.format(row.bytes())));
            names.forEach(name -> line.add(number(row.micros().get(name))));
            table.row(line.toArray(String[]::new));
        }
        return table.toString();
    }

    /** Returns lines with the share of good cells, and the worst of the others; a cell is one size of one run. */
    static String summary(List<Row> cells) {
        long good = cells.stream().filter(Row::isGood).count();
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "# cells: %d, at most %d %% slower than the best: %d (%.1f %%)%n",
                cells.size(),
                GOOD_PERCENT,
                good,
                good * (double) PERCENT / cells.size()));
        int halves = cells.stream().mapToInt(Row::repeatable).sum();
        text.append(String.format(
                Locale.ROOT,
                "# what is best in half of the rounds is at most %d %% slower than the best in the other half: %.1f %%%n",
                GOOD_PERCENT,
                halves * (double) PERCENT / (2 * cells.size())));
        cells.stream()
                .filter(cell -> !cell.isGood())
                .sorted(Comparator.comparingDouble(Row::percent).reversed())
                .limit(MAX_NAMED)
                .forEach(cell -> text.append(String.format(
                        Locale.ROOT,
                        "#   %s, %s: %s, %.0f %% slower than %s%n",
                        cell.run(),
                        ByteSizes.format(cell.bytes()),
                        cell.chosen(),
                        cell.percent(),
                        cell.best())));
        return text.toString();
    }

    private static String number(double micros) {
        return String.format(Locale.ROOT, micros < 10 ? "%.3f" : "%.1f", micros);
    }
}
