package io.jccl.cli.launch;

import java.time.Duration;

/**
 * The rules by which a job continues after processes fail.
 *
 * @param min the job ends when fewer processes than this are alive or have ended with status 0
 * @param restarts limit on the number of restarts, counted over all processes
 * @param minBackoff time that a failed process waits before it is started again; doubles with each failure before it
 *     has joined
 * @param maxBackoff upper limit of that time
 */
public record Elastic(int min, int restarts, Duration minBackoff, Duration maxBackoff) {

    /** Checks the values. */
    public Elastic {
        if (min < 1 || restarts < 0) {
            throw new IllegalArgumentException(
                    "min=" + min + " restarts=" + restarts + ": expected at least 1 process and 0 restarts");
        }
    }

    /** Returns the time to wait after {@code failures} failures in a row. */
    Duration backoff(int failures) {
        Duration wait = minBackoff;
        for (int i = 1; i < failures && wait.compareTo(maxBackoff) < 0; i++) {
            wait = wait.multipliedBy(2);
        }
        return wait.compareTo(maxBackoff) < 0 ? wait : maxBackoff;
    }
}
