package io.jccl.cli.tune;

import java.io.PrintStream;
import java.util.function.LongSupplier;

/**
 * Says how far the runs of a command are. On a terminal the first rank of each run does, in a line that it redraws;
 * elsewhere each run gets a line when it begins.
 */
final class RunProgress {

    private final PrintStream err;
    private final boolean lines;
    private final LongSupplier clock;
    private final long begin;

    /**
     * @param lines whether each run gets a line
     * @param clock in nanoseconds
     */
    RunProgress(PrintStream err, boolean lines, LongSupplier clock) {
        this.err = err;
        this.lines = lines;
        this.clock = clock;
        this.begin = clock.getAsLong();
    }

    /** A run that begins now, with what is known of the time by those before it. */
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
