package io.jccl.cli.tune;

import java.util.Locale;

/**
 * The place of a run among all runs of a command, in the time that was planned for their rounds.
 *
 * @param number of the run, from 1
 * @param count of all runs
 * @param secondsBefore planned for the runs before it
 * @param secondsInAll planned for all runs
 * @param overheadSeconds what each run takes besides, to initialise and to warm up, by the runs before
 */
record Phase(int number, int count, double secondsBefore, double secondsInAll, double overheadSeconds) {

    /** A run by itself. */
    static final Phase ONLY = new Phase(1, 1, 0, 0, 0);

    /**
     * How far the command is.
     *
     * @param run what this is the phase of
     * @param what it does now
     * @param seconds for which its rounds have run
     */
    String describe(MeasurementRun run, String what, double seconds) {
        double done = secondsBefore + Math.min(seconds, run.seconds());
        double percent = secondsInAll > 0 ? 100 * done / secondsInAll : 0;
        return String.format(
                Locale.ROOT,
                "run %d of %d, %s%s: %.0f %%, about %s left",
                number,
                count,
                run.title(),
                what.isEmpty() ? "" : ", " + what,
                percent,
                duration(secondsInAll - done + overheadSeconds * (count - number)));
    }

    /** For people: {@code 45 s} or {@code 2 min 5 s}. */
    static String duration(double seconds) {
        long whole = Math.max(0, Math.round(seconds));
        return whole < 60 ? whole + " s" : whole / 60 + " min " + whole % 60 + " s";
    }
}
