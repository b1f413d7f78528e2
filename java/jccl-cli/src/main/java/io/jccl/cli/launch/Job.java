package io.jccl.cli.launch;

import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The processes that the local launcher starts.
 *
 * @param ranks number of processes, at least 1
 * @param command program and arguments, the same for every rank
 * @param environment variables in addition to those that place a rank, the same for every rank
 * @param processors processors of each rank, by rank, with a bit for each processor; empty if ranks are not bound
 * @param output where the ranks' output goes
 * @param colours whether prefixes are coloured, for standard output and standard error
 * @param linger time for which the other ranks may continue after one has failed, so that they can report what they saw
 * @param grace time that a rank may take to end after TERM before it is killed
 * @param verbose true to print the process id of each rank
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

    /** Where the ranks' output goes. */
    public enum Output {
        /** Each line goes to the launcher's streams with the rank that wrote it in front. */
        PREFIXED,
        /** Ranks write to the launcher's own streams. */
        PLAIN,
        /**
         * Rank 0 writes to the launcher's own streams; lines of other ranks go to standard error, with the rank in
         * front.
         */
        FIRST_RANK
    }

    /**
     * The streams on which prefixes are coloured.
     *
     * @param out true for standard output
     * @param err true for standard error
     */
    public record Colours(boolean out, boolean err) {}

    /** Checks the values and copies the collections. */
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
