package io.jccl.cli.output;

/** The exit codes of the command. */
public final class ExitCode {

    /** All is well. */
    public static final int SUCCESS = 0;

    /** A check failed, or the command could not do its task. */
    public static final int FAILURE = 1;

    /** The command line is wrong. */
    public static final int USAGE = 2;

    /** A measurement is slower than the baseline allows. */
    public static final int REGRESSION = 3;

    /** {@code jccl ps} found ranks that hold up a job. */
    public static final int HELD_UP = 4;

    private ExitCode() {}
}
