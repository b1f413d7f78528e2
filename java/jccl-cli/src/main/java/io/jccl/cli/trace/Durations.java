package io.jccl.cli.trace;

import java.util.Locale;

/** Durations as text. */
final class Durations {

    private Durations() {}

    /** In the unit that fits: {@code 340 ns}, {@code 12.3 us}, {@code 4.5 ms}, {@code 2.0 s}. */
    static String text(long nanos) {
        if (nanos < 1_000) {
            return nanos + " ns";
        }
        if (nanos < 1_000_000) {
            return String.format(Locale.ROOT, "%.1f us", nanos / 1e3);
        }
        return nanos < 1_000_000_000
                ? String.format(Locale.ROOT, "%.1f ms", nanos / 1e6)
                : String.format(Locale.ROOT, "%.1f s", nanos / 1e9);
    }
}
