package io.jccl.cli.tune;

import java.io.PrintStream;
import java.util.function.LongSupplier;

/**
 * Reports the progress of a command's runs. On a terminal, the first rank of each run redraws a line. Elsewhere, each
 * run prints a line when it begins.
 */
final class RunProgress {

    private final PrintStream err;
    private final boolean lines;
    private final LongSupplier clock;
    private final long begin;

    /**
     * @param lines true to print a line for each run
     * @param clock returns the time in nanoseconds
     */
    RunProgress(PrintStream err, boolean lines, LongSupplier clock) {
        this.err = err;
        this.lines = lines;
        this.clock = clock;
        this.begin = clock.getAsLong();
    }

    /** Returns a run that begins now, with the overhead of the runs before it. */
    MeasurementRun begin(MeasurementRun run) {
        Phase planned = run.phase();
        double besides = (clock.getAsLong() - begin) / 1e9 - planned.secondsBefore();
        MeasurementRun now = run.at(
                new Phase(
                        planned.number(),
                        planned.count(),
                        planned.secondsBefore(),
                        planned.secondsInAll(),
                        Math.max(0, besides / Math.max(1, planned.number() - 1))),
                run.seconds());
        if (lines) {
            err.println("jccl tune: " + now.phase().describe(now, "", 0));
        }
        return now;
    }
}
