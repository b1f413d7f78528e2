package io.jccl.verify;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Runs steps in order until the time is over, and records how each ended. */
final class Steps {

    /** Time limit of a step that usually takes some seconds. */
    static final Duration SHORT = Duration.ofSeconds(40);

    private final Path folder;
    private final List<Report.Step> done;
    private final PrintStream out;
    private final long end;
    private final Map<String, String> environment;
    private final Runnable recorded;
    private long stepEnd;
    private boolean cutShort;

    /**
     * @param folder folder for the output of programs
     * @param done receives each step
     * @param environment additional variables of all programs
     * @param recorded called after each step
     */
    Steps(
            Path folder,
            List<Report.Step> done,
            PrintStream out,
            Duration budget,
            Map<String, String> environment,
            Runnable recorded) {
        this.folder = folder;
        this.done = done;
        this.out = out;
        this.environment = Map.copyOf(environment);
        this.recorded = recorded;
        this.end = System.nanoTime() + budget.toNanos();
        this.stepEnd = end;
    }

    /** The actions of a step. */
    @FunctionalInterface
    interface Body {
        /** Runs the step; returns why it failed, or an empty text. */
        String run() throws IOException, InterruptedException;
    }

    /** Runs an essential step: it fails if there is no time for it. */
    void require(String name, Duration limit, Body body) throws IOException, InterruptedException {
        run(name, limit, Report.Outcome.FAILED, body);
    }

    /**
     * Runs a step if at least a quarter of its limit is left. A step that the end of the budget cuts short counts as
     * not run.
     */
    void step(String name, Duration limit, Body body) throws IOException, InterruptedException {
        run(name, limit, Report.Outcome.NOT_RUN, body);
    }

    private void run(String name, Duration limit, Report.Outcome without, Body body)
            throws IOException, InterruptedException {
        Duration left = Duration.ofNanos(end - System.nanoTime());
        if (left.compareTo(limit.dividedBy(4)) < 0) {
            String reason = Math.max(0, left.toSeconds()) + " s are left, expected at least "
                    + limit.dividedBy(4).toSeconds() + "; give it more with --budget";
            add(new Report.Step(name, without, 0, reason));
            return;
        }
        long begin = System.nanoTime();
        stepEnd = Math.min(end, begin + limit.toNanos());
        cutShort = false;
        String failure = body.run();
        double seconds = Math.rint((System.nanoTime() - begin) / 1e8) / 10;
        if (failure.isEmpty()) {
            add(new Report.Step(name, Report.Outcome.OK, seconds, ""));
        } else if (cutShort) {
            String reason = failure + "; it had " + left.toSeconds() + " of " + limit.toSeconds()
                    + " s; give it more with --budget";
            add(new Report.Step(name, without, seconds, reason));
        } else {
            add(new Report.Step(name, Report.Outcome.FAILED, seconds, failure));
        }
    }

    /** Records that a step is not run. */
    void notRun(String name, String reason) {
        add(new Report.Step(name, Report.Outcome.NOT_RUN, 0, reason));
    }

    private void add(Report.Step step) {
        done.add(step);
        out.printf(
                "%-8s %6.1f s  %s%s%n",
                step.outcome().label(),
                step.seconds(),
                step.name(),
                step.reason().isEmpty() ? "" : ": " + step.reason());
        recorded.run();
    }

    /** Runs a program until the step's time is over; its output is kept under {@code name}. */
    ChildProcess.Result child(String name, List<String> command, Map<String, String> further)
            throws IOException, InterruptedException {
        Map<String, String> all = new HashMap<>(environment);
        all.putAll(further);
        Duration left = Duration.ofNanos(Math.max(0, stepEnd - System.nanoTime()));
        ChildProcess.Result result = ChildProcess.run(command, all, left, folder.resolve(name + ".log"));
        cutShort |= result.isLate() && stepEnd == end;
        return result;
    }

    /** Runs a program; returns why it failed, or an empty text. */
    String requireWell(String name, List<String> command) throws IOException, InterruptedException {
        ChildProcess.Result result = child(name, command, Map.of());
        return failure(name, result);
    }

    /** Returns why a program failed, or an empty text. */
    static String failure(String name, ChildProcess.Result result) {
        return failure(name, result, result.reason());
    }

    /**
     * Returns why a program failed, or an empty text.
     *
     * @param reason the reason that the output of the program gives
     */
    static String failure(String name, ChildProcess.Result result, String reason) {
        if (result.status() == 0) {
            return "";
        }
        return (result.isLate() ? "its time was over" : "status " + result.status() + ", " + reason) + "; see " + name
                + ".log";
    }
}
