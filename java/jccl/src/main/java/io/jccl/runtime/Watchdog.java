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
 * The thread that checks all communicators of the process periodically, so that operations need not read a clock. The
 * thread lives while there is a communicator.
 */
final class Watchdog {

    /** The only watchdog of the process. */
    static final Watchdog SHARED = new Watchdog();

    private static final Logger LOG = LoggerFactory.getLogger(Watchdog.class);
    private static final long TICK_NANOS = 50_000_000;
    private static final Duration END_TIMEOUT = Duration.ofSeconds(1);

    /** An object that the watchdog checks. */
    interface Watched {
        /** Checks the object; must return at once. */
        void tick(long nowNanos);
    }

    private volatile Watched[] watched = {}; // replaced as a whole, under the lock of this
    private Thread thread; // guarded by this

    private Watchdog() {}

    /**
     * Checks an object periodically from now on.
     *
     * @throws JcclException if the thread cannot be started
     */
    synchronized void add(Watched one) {
        Watched[] more = Arrays.copyOf(watched, watched.length + 1);
        more[watched.length] = one;
        watched = more;
        NativeEngine.tick();
        if (thread == null) {
            Thread starting = SharedThreads.create(() -> ServiceThread.repeating("jccl-watchdog", this::round));
            try {
                Threads.start(starting); // without this thread no time-out would be noticed
            } catch (JcclException e) {
                remove(one);
                throw e;
            }
            thread = starting;
        }
    }

    /**
     * Stops checking an object. After the last object, ends the thread: then no thread runs these classes, and their
     * class loader may be closed.
     */
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

    /** Checks all objects once. Allocates nothing itself. */
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

    /** Checks one object. Its exception must not keep the thread from checking the others. */
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
            // There is no memory for a log record. The next check follows after 50 ms.
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
