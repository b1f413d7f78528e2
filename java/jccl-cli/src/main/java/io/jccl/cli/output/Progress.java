package io.jccl.cli.output;

import java.io.PrintStream;

/** One line on a terminal that shows how far a long run is, and that disappears before anything else is printed. */
public final class Progress {

    private static final String ERASE_LINE = "\r\u001b[K";

    private final PrintStream terminal;
    private final boolean enabled;
    private String title = "";
    private int steps;
    private int step;

    /**
     * @param terminal where the line appears
     * @param enabled false to print nothing at all
     */
    public Progress(PrintStream terminal, boolean enabled) {
        this.terminal = terminal;
        this.enabled = enabled;
    }

    /** Begins a run of known length. */
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

    /** Shows a line in the place of the one before. */
    public void show(String line) {
        if (enabled) {
            terminal.print(ERASE_LINE + line);
            terminal.flush();
        }
    }

    /** Takes the line away. */
    public void clear() {
        if (enabled) {
            terminal.print(ERASE_LINE);
            terminal.flush();
        }
    }
}
