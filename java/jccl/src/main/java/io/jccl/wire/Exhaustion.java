package io.jccl.wire;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server's shortage of resources that it needs to accept connections, such as file descriptors of the process or
 * host. Pauses between attempts, logs rarely, and detects when the shortage lasts. Used by the server's thread.
 */
public final class Exhaustion {

    /** The pause between attempts to accept. */
    public static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Logger LOG = LoggerFactory.getLogger(Exhaustion.class);
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);

    private SocketChannel spare; // null if there is none
    private boolean refused; // true if the last attempt failed
    private boolean lasts; // true once a lasting shortage was reported
    private boolean logged;
    private long sinceNanos;
    private long lastNanos;
    private long loggedNanos;
    private String why = "";

    /**
     * Reserves a descriptor. If a shortage lasts, this descriptor is used to accept waiting peers one after the other
     * and to report the shortage to them.
     */
    synchronized void keepSpare() {
        try {
            spare = SocketChannel.open();
        } catch (IOException e) {
            spare = null; // no descriptor is left to reserve
        }
    }

    /** Closes the reserved descriptor. */
    synchronized void releaseSpare() {
        if (spare != null) {
            Reactor.closeQuietly(spare);
            spare = null;
        }
    }

    /** Notes that a connection was accepted, or that none waits to be accepted. */
    public void accepted() {
        refused = false;
    }

    /**
     * Notes that accepting failed. Linux fails without a free descriptor even if no connection waits, so a single
     * failure proves nothing. After the pause, only a waiting connection leads to another attempt.
     *
     * @return true if the shortage has now lasted so long that it will not pass by itself; only once
     */
    public boolean refused(long now, int port, Throwable cause) {
        boolean again = refused && now - lastNanos < RECENT_NANOS;
        sinceNanos = again ? sinceNanos : now;
        refused = true;
        lastNanos = now;
        if (!again) {
            return false;
        }
        why = "connections to port=" + port + " cannot be accepted: " + Causes.describe(cause);
        if (!logged || now - loggedNanos >= LOG_NANOS) {
            LOG.warn(why);
            logged = true;
            loggedNanos = now;
        }
        boolean first = !lasts && now - sinceNanos >= LASTING_NANOS;
        lasts |= first;
        if (first) {
            releaseSpare();
        }
        return first;
    }

    /** Returns the reason why accepting failed. */
    String why() {
        return why;
    }

    /** Returns true if the pause after a failed attempt is over. */
    public boolean mayAccept(long now) {
        return !refused || now - lastNanos >= PAUSE_NANOS;
    }
}
