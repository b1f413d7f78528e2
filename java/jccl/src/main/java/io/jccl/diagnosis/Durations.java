package io.jccl.diagnosis;

import java.util.Locale;

/** Formats times for people. */
public final class Durations {

    private static final double MILLI = 1e6;
    private static final double SECOND = 1e9;
    private static final int SECONDS_AS_SUCH = 120;
    private static final int MINUTE = 60;

    private Durations() {}

    /** Returns a text such as {@code 12 ms}, {@code 4.2 s} or {@code 5 min 3 s}. */
    public static String text(long nanos) {
        if (nanos < SECOND) {
            return Math.round(nanos / MILLI) + " ms";
        }
        double seconds = nanos / SECOND;
        if (seconds < SECONDS_AS_SUCH) {
            return String.format(Locale.ROOT, "%.1f s", seconds);
        }
        long whole = Math.round(seconds);
        return whole / MINUTE + " min " + whole % MINUTE + " s";
    }
}
