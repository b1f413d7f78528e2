package io.jccl.cli.perf;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** An earlier run whose medians those of a later one are compared with. */
final class Baseline {

    /** Which rows are comparable. */
    private record Key(String collective, String backend, int ranks, long bytes, String type, String op) {}

    private record Medians(Double outOfPlaceUs, Double inPlaceUs) {}

    private final Path file;
    private final double tolerancePercent;
    private final Map<Key, Medians> medians = new HashMap<>();
    private final List<String> regressions = new ArrayList<>();
    private int compared;

    Baseline(EarlierRun run, double tolerancePercent) {
        this.file = run.file();
        this.tolerancePercent = tolerancePercent;
        for (EarlierRun.Row row : run.rows()) {
            medians.put(
                    new Key(row.collective(), row.backend(), row.ranks(), row.bytes(), row.type(), row.op()),
                    new Medians(row.outOfPlace().p50Us(), row.inPlace().p50Us()));
        }
    }

    /** Compares a row with its counterpart, if there is one. */
    void compare(PerfRow row) {
        Medians before =
                medians.get(new Key(row.collective(), row.backend(), row.ranks(), row.bytes(), row.type(), row.op()));
        if (before != null) {
            compare(row, "out of place", before.outOfPlaceUs, row.outOfPlace().p50Us());
            compare(row, "in place", before.inPlaceUs, row.inPlace().p50Us());
        }
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

    /** What is slower than it may be, a sentence each. */
    List<String> regressions() {
        return regressions;
    }

    /** How many medians had a counterpart. */
    int compared() {
        return compared;
    }

    Path file() {
        return file;
    }
}
