package io.jccl.cli.launch;

import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What the local launcher starts.
 *
 * @param ranks how many processes, at least 1
 * @param command program and arguments, the same for every rank
 * @param environment variables beside those that place a rank, the same for every rank
 * @param processors what each rank is bound to, by rank, a bit for each processor; empty: they are not bound
 * @param output what becomes of the ranks' output
 * @param colours whether prefixes are coloured, for standard output and standard error
 * @param linger how long the others may go on after a rank has failed, so that they can report what they saw
 * @param grace how long a rank may take to end after TERM before it is killed
 * @param verbose whether to print the process id of each rank
 */
public record Job(
        int ranks,
        List<String> command,
        Map<String, String> environment,
        List<BigInteger> processors,
        Output output,
        Colours colours,
        Duration linger,
        Duration grace,
        boolean verbose) {

    /** What becomes of the ranks' output. */
    public enum Output {
        /** Every line begins with the rank that wrote it. */
        PREFIXED,
        /** Ranks write to the launcher's own streams. */
        PLAIN,
        /** Rank 0 writes to the launcher's own streams; what others write goes to standard error, prefixed. */
        FIRST_RANK
    }

    /**
     * Which streams take colours.
     *
     * @param out standard output
     * @param err standard error
     */
    public record Colours(boolean out, boolean err) {}

    /** Checks and copies. */
    public Job {
        if (ranks < 1) {
            throw new IllegalArgumentException("ranks=" + ranks + ": expected at least 1; set it with -n");
        }
        if (command.isEmpty()) {
            throw new IllegalArgumentException("command=[]: expected a program to start; write it after --");
        }
        command = List.copyOf(command);
        environment = Map.copyOf(environment);
        processors = List.copyOf(processors);
        if (!processors.isEmpty() && processors.size() != ranks) {
            throw new IllegalArgumentException(
                    "processors of " + processors.size() + " ranks: expected those of ranks=" + ranks + ", or none");
        }
    }
}
