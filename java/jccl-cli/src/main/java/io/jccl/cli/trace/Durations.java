package io.jccl.cli.trace;

import java.util.Locale;

/** Formats durations. */
final class Durations {

    private Durations() {}

    /** Returns a duration in a fitting unit: {@code 340 ns}, {@code 12.3 us}, {@code 4.5 ms} or {@code 2.0 s}. */
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
