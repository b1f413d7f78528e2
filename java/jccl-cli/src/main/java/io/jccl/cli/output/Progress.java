package io.jccl.cli.output;

import java.io.PrintStream;

/** A line on a terminal that shows the progress of a long run; it must be cleared before other output. */
public final class Progress {

    private static final String ERASE_LINE = "\r\u001b[K";

    private final PrintStream terminal;
    private final boolean enabled;
    private String title = "";
    private int steps;
    private int step;

    /**
     * @param terminal stream on which the line appears
     * @param enabled false to print nothing
     */
    public Progress(PrintStream terminal, boolean enabled) {
        this.terminal = terminal;
        this.enabled = enabled;
    }

    /** Begins a run of {@code steps} steps. */
    public void begin(String title, int steps) {
        this.title = title;
        this.steps = steps;
        this.step = 0;
    }

    /** Shows that the next step has begun. */
    public void step(String what) {
        step++;
        show(title + " " + what + " (" + step + " of " + steps + ")");
    }

    /** Replaces the line shown before. */
    public void show(String line) {
        if (enabled) {
            terminal.print(ERASE_LINE + line);
            terminal.flush();
        }
    }

    /** Erases the line. */
    public void clear() {
        if (enabled) {
            terminal.print(ERASE_LINE);
            terminal.flush();
        }
    }
}
