package io.jccl.cli.output;

/** The exit codes of the command. */
public final class ExitCode {

    /** All is well. */
    public static final int SUCCESS = 0;

    /** A check failed, or what was asked for could not be done. */
    public static final int FAILURE = 1;

    /** The command line is wrong. */
    public static final int USAGE = 2;

    /** Slower than the baseline allows. */
    public static final int REGRESSION = 3;

    /** Ranks hold up a job that was looked at. */
    public static final int HELD_UP = 4;

    private ExitCode() {}
}
