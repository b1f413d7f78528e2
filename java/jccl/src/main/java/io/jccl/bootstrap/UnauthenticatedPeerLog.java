package io.jccl.bootstrap;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Tells of connections that are not ours, once a second at most, with a count of what it left out. For one thread. */
final class UnauthenticatedPeerLog {

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Consumer<String> out;
    private boolean told;
    private long lastNanos;
    private long leftOut;
    private long total;

    UnauthenticatedPeerLog(Consumer<String> out) {
        this.out = out;
    }

    void stranger(String remote, String why, long now) {
        total++;
        if (told && now - lastNanos < INTERVAL_NANOS) {
            leftOut++;
            return;
        }
        out.accept("ignored a stranger: remote=" + remote + " why=" + why
                + (leftOut > 0 ? "; and " + leftOut + " more since the last such line" : "") + "; total=" + total);
        told = true;
        lastNanos = now;
        leftOut = 0;
    }

    long total() {
        return total;
    }
}
