package io.jccl.runtime;

import io.jccl.internal.SharedThreads;
import io.jccl.nativelib.NativeEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
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

    private final List<Watched> watched = new CopyOnWriteArrayList<>();
    private Thread thread; // guarded by this

    private Watchdog() {}

    synchronized void add(Watched one) {
        watched.add(one);
        NativeEngine.tick();
        if (thread == null) {
            Thread starting = SharedThreads.create("jccl-watchdog", this::run);
            starting.start();
            thread = starting; // unless there was no memory or no thread: the next communicator tries again
        }
    }

    /** Ends the thread, too, if nothing is left; after that no thread runs these classes, whose loader may be closed. */
    void remove(Watched one) {
        Thread ending;
        synchronized (this) {
            watched.remove(one);
            if (!watched.isEmpty() || thread == null) {
                return;
            }
            ending = thread;
        }
        LockSupport.unpark(ending);
        if (ending != Thread.currentThread()) {
            IdleStrategy.await(
                    () -> !ending.isAlive() || !watched.isEmpty(), Deadlines.after(END_TIMEOUT), 10_000, 1_000_000);
        }
    }

    /** Whether no communicator is watched. */
    boolean isIdle() {
        return watched.isEmpty();
    }

    private void run() {
        while (!endIfNothingIsLeft()) {
            LockSupport.parkNanos(this, TICK_NANOS);
            NativeEngine.tick();
            long now = System.nanoTime();
            for (Watched one : watched) {
                tick(one, now);
            }
        }
    }

    /** What one throws must not end the thread, which checks the others too. */
    private static void tick(Watched one, long now) {
        try {
            one.tick(now);
        } catch (Throwable e) {
            LOG.warn("the check of a communicator failed", e);
        }
    }

    private synchronized boolean endIfNothingIsLeft() {
        if (!watched.isEmpty()) {
            return false;
        }
        thread = null;
        return true;
    }
}
