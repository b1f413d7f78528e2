package io.jccl.cli.perf;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Compares the medians of a run with those of an earlier run, the baseline. */
final class Baseline {

    /** The properties that comparable rows share. */
    private record Key(String collective, String backend, int ranks, long bytes, String type, String op) {}

    private record Medians(Double outOfPlaceUs, Double inPlaceUs) {}

    private final Path file;
    private final double tolerancePercent;
    private final Map<Key, Medians> medians = new HashMap<>();
    private final List<String> regressions = new ArrayList<>();
    private final StringBuilder table = new StringBuilder();
    private int compared;

    /**
     * @param mode mode of the new run; rows of other modes are not compared
     * @param tolerancePercent percentage by which a median may be slower
     */
    Baseline(EarlierRun run, Mode mode, double tolerancePercent) {
        this.file = run.file();
        this.tolerancePercent = tolerancePercent;
        for (EarlierRun.Row row : run.rows()) {
            if (row.mode().equals(mode.label())) {
                medians.put(
                        new Key(row.collective(), row.backend(), row.ranks(), row.bytes(), row.type(), row.op()),
                        new Medians(row.outOfPlace().p50Us(), row.inPlace().p50Us()));
            }
        }
    }

    /** Compares a row with its counterpart in the baseline, if there is one. */
    void compare(PerfRow row) {
        Medians before =
                medians.get(new Key(row.collective(), row.backend(), row.ranks(), row.bytes(), row.type(), row.op()));
        if (before != null) {
            compare(row, "out of place", before.outOfPlaceUs, row.outOfPlace().p50Us());
            compare(row, "in place", before.inPlaceUs, row.inPlace().p50Us());
            table.append(String.format("#%11d", row.bytes()))
                    .append(cells(before.outOfPlaceUs, row.outOfPlace().p50Us()))
                    .append(cells(before.inPlaceUs, row.inPlace().p50Us()))
                    .append('\n');
        }
    }

    private static String cells(Double before, Double now) {
        return before == null || now == null
                ? String.format("  %10s %10s %6s", "-", "-", "-")
                : String.format(
                        Locale.ROOT, "  %10s %10s %6.2f", PerfTable.time(before), PerfTable.time(now), now / before);
    }

    /** Returns a table of the compared medians of both runs, with a line for each size. */
    String table() {
        String side = String.format("  %10s %10s %6s", "then", "now", "ratio");
        return "# medians (us)" + " ".repeat(12) + "out of place" + " ".repeat(22) + "in place\n"
                + String.format("#%11s", "size") + side + side + "\n" + table;
    }

    private void compare(PerfRow row, String placement, Double before, Double now) {
        if (before == null || now == null) {
            return;
        }
        compared++;
        if (now > before * (1 + tolerancePercent / 100)) {
            regressions.add(String.format(
                    Locale.ROOT,
                    "%s bytes=%d %s: median %.3f us, baseline %.3f us: %.0f %% slower, tolerance %.0f %%",
                    row.collective(),
                    row.bytes(),
                    placement,
                    now,
                    before,
                    (now / before - 1) * 100,
                    tolerancePercent));
        }
    }

    /** Returns a sentence for each median that is slower than the tolerance allows. */
    List<String> regressions() {
        return regressions;
    }

    /** Returns the number of medians that had a counterpart in the baseline. */
    int compared() {
        return compared;
    }

    Path file() {
        return file;
    }
}
