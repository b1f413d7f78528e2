package io.jccl.wire;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Logs unauthenticated peers: at most one line a second, with the number of peers that were not logged since the
 * previous line. For use by one thread.
 */
public final class UnauthenticatedPeerLog {

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Consumer<String> out;
    private boolean logged;
    private long lastNanos;
    private long leftOut;
    private long total;

    public UnauthenticatedPeerLog(Consumer<String> out) {
        this.out = out;
    }

    public void ignored(String remote, String why, long now) {
        total++;
        if (logged && now - lastNanos < INTERVAL_NANOS) {
            leftOut++;
            return;
        }
        out.accept("ignored an unauthenticated peer: remote=" + remote + " why=" + why
                + (leftOut > 0 ? "; and " + leftOut + " more since the last such line" : "") + "; total=" + total);
        logged = true;
        lastNanos = now;
        leftOut = 0;
    }

    public long total() {
        return total;
    }
}
