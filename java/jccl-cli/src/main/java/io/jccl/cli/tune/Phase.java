package io.jccl.cli.tune;

import java.util.Locale;

/**
 * The place of a run among all runs of a command, with the times that were planned for their rounds.
 *
 * @param number number of the run, from 1
 * @param count number of all runs
 * @param secondsBefore time planned for the runs before it
 * @param secondsInAll time planned for all runs
 * @param overheadSeconds average additional time of the runs before it, for initialisation and warm-up
 */
record Phase(int number, int count, double secondsBefore, double secondsInAll, double overheadSeconds) {

    /** The phase of a single run. */
    static final Phase ONLY = new Phase(1, 1, 0, 0, 0);

    /**
     * Describes how far the command is.
     *
     * @param run the run of this phase
     * @param what what the run does now
     * @param seconds time for which its rounds have run
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

    /** Returns a text such as {@code 45 s} or {@code 2 min 5 s}. */
    static String duration(double seconds) {
        long whole = Math.max(0, Math.round(seconds));
        return whole < 60 ? whole + " s" : whole / 60 + " min " + whole % 60 + " s";
    }
}
