package io.jccl.bootstrap;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server's shortage of what it accepts connections with, such as file descriptors of the process or host: pauses
 * between attempts, logs rarely, and knows when the shortage has lasted. For the server's thread.
 */
public final class Exhaustion {

    /** Between attempts to accept. */
    public static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Logger LOG = LoggerFactory.getLogger(Exhaustion.class);
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);

    private SocketChannel spare; // or null
    private boolean refused; // the last attempt
    private boolean lasts; // reported
    private boolean logged;
    private long sinceNanos;
    private long lastNanos;
    private long loggedNanos;
    private String why = "";

    /** Keeps a descriptor with which those who wait are accepted, one after the other, to report to them that the shortage lasts. */
    synchronized void keepSpare() {
        try {
            spare = SocketChannel.open();
        } catch (IOException e) {
            spare = null; // nothing to spare
        }
    }

    /** Gives the spare descriptor up. */
    synchronized void releaseSpare() {
        if (spare != null) {
            Reactor.closeQuietly(spare);
            spare = null;
        }
    }

    /** Notes that accepting succeeds, or that nobody waits. */
    public void accepted() {
        refused = false;
    }

    /**
     * Notes that accepting failed. Linux fails without a free descriptor even if nobody waits, so that one failure shows nothing
     * yet; after the pause only a connection that waits leads to another.
     *
     * @return whether that has now lasted so long that it does not pass by itself; true once
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

    /** Why accepting failed. */
    String why() {
        return why;
    }

    /** Returns true if the pause after a failed attempt is over. */
    public boolean mayAccept(long now) {
        return !refused || now - lastNanos >= PAUSE_NANOS;
    }
}
