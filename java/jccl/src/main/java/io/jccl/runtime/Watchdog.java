package io.jccl.runtime;

import io.jccl.JcclException;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.SharedThreads;
import io.jccl.internal.Threads;
import io.jccl.nativelib.NativeEngine;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that checks all communicators of the process periodically, so that operations need not read a clock. It lives
 * while there is a communicator.
 */
final class Watchdog {

    /** The only watchdog of the process. */
    static final Watchdog SHARED = new Watchdog();

    private static final Logger LOG = LoggerFactory.getLogger(Watchdog.class);
    private static final long TICK_NANOS = 50_000_000;
    private static final Duration END_TIMEOUT = Duration.ofSeconds(1);

    /** What is checked. */
    interface Watched {
        /** A check; must return at once. */
        void tick(long nowNanos);
    }

    private volatile Watched[] watched = {}; // replaced as a whole; written under the lock of this
    private Thread thread; // guarded by this

    private Watchdog() {}

    /**
     * Checks one periodically from now on.
     *
     * @throws JcclException if there is no thread for it
     */
    synchronized void add(Watched one) {
        Watched[] more = Arrays.copyOf(watched, watched.length + 1);
        more[watched.length] = one;
        watched = more;
        NativeEngine.tick();
        if (thread == null) {
            Thread starting = SharedThreads.create(() -> ServiceThread.repeating("jccl-watchdog", this::round));
            try {
                Threads.start(starting); // without it no time-out would be noticed
            } catch (JcclException e) {
                remove(one);
                throw e;
            }
            thread = starting;
        }
    }

    /** Ends the thread, too, if nothing is left; after that no thread runs these classes, whose loader may be closed. */
    void remove(Watched one) {
        Thread ending;
        synchronized (this) {
            watched = Arrays.stream(watched).filter(other -> other != one).toArray(Watched[]::new);
            if (watched.length > 0 || thread == null) {
                return;
            }
            ending = thread;
        }
        LockSupport.unpark(ending);
        if (ending != Thread.currentThread()) {
            IdleStrategy.await(
                    () -> !ending.isAlive() || watched.length > 0, Deadlines.after(END_TIMEOUT), 10_000, 1_000_000);
        }
    }

    /** Returns true if no communicator is watched. */
    boolean isIdle() {
        return watched.length == 0;
    }

    /** Allocates nothing of its own. */
    private boolean round() {
        if (endIfNothingIsLeft()) {
            return false;
        }
        LockSupport.parkNanos(this, TICK_NANOS);
        NativeEngine.tick();
        long now = System.nanoTime();
        Watched[] all = watched;
        for (int i = 0; i < all.length; i++) {
            tick(all[i], now);
        }
        return true;
    }

    /** What one throws must not end the thread, which checks the others too. */
    private static void tick(Watched one, long now) {
        try {
            one.tick(now);
        } catch (Throwable e) {
            warn(e);
        }
    }

    private static void warn(Throwable problem) {
        try {
            LOG.warn("the check of a communicator failed", problem);
        } catch (Throwable e) {
            // No memory for a log record. The next check is 50 ms later.
        }
    }

    private synchronized boolean endIfNothingIsLeft() {
        if (watched.length > 0) {
            return false;
        }
        thread = null;
        return true;
    }
}
