package io.jccl.cli.launch;

import java.time.Duration;

/**
 * How a job goes on when processes fail.
 *
 * @param min with fewer processes that live, or have ended well, the job ends
 * @param restarts how often processes are started again, all together
 * @param minBackoff how long a process waits before it is started again; doubles as long as it fails without having joined
 * @param maxBackoff the longest such wait
 */
public record Elastic(int min, int restarts, Duration minBackoff, Duration maxBackoff) {

    /** Checks. */
    public Elastic {
        if (min < 1 || restarts < 0) {
            throw new IllegalArgumentException(
                    "min=" + min + " restarts=" + restarts + ": expected at least 1 process and 0 restarts");
        }
    }

    /** How long to wait after so many failures in a row. */
    Duration backoff(int failures) {
        Duration wait = minBackoff;
        for (int i = 1; i < failures && wait.compareTo(maxBackoff) < 0; i++) {
            wait = wait.multipliedBy(2);
        }
        return wait.compareTo(maxBackoff) < 0 ? wait : maxBackoff;
    }
}
