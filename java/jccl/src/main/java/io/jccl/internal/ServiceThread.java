package io.jccl.internal;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread of the library. All threads of the library are of this class, so that every exception is handled
 * here, including errors of the JVM. No thread ends silently, and nothing reaches the handler of uncaught exceptions,
 * which prints.
 *
 * <p>A thread that {@link #repeating repeats rounds} starts the next round after a pause. A thread that runs {@link
 * #once} passes the exception to whoever waits for the thread. While the heap is full nothing here allocates: an error
 * is kept and logged after memory has returned.
 */
public final class ServiceThread extends Thread {

    /** One round of a thread that repeats rounds. */
    @FunctionalInterface
    public interface Rounds {

        /**
         * Does one round. After an exception or error the thread pauses and starts another round, so a round must leave
         * its state consistent when it throws.
         *
         * @return true if another round follows
         * @throws Exception is logged
         */
        boolean next() throws Exception;
    }

    private static final Logger LOG = LoggerFactory.getLogger(ServiceThread.class);
    private static final long MIN_PAUSE_NANOS = 1_000_000;
    private static final long MAX_PAUSE_NANOS = 100_000_000;

    /**
     * Number of errors in a row after which the thread logs although no round has succeeded: about every ten seconds.
     * Exceptions that are no errors are logged at once.
     */
    private static final long LOG_AFTER = 100;

    private Throwable firstUnlogged; // the first problem that is not logged yet, or null
    private long unlogged; // number of problems that are not logged yet
    private long logAt = LOG_AFTER; // value of unlogged at which the thread logs
    private long pauseNanos = MIN_PAUSE_NANOS;

    private ServiceThread(String name, Consumer<ServiceThread> body) {
        // no inheritable thread locals: they could keep an application's classes
        super(null, new Body(body), name, 0, false);
        setDaemon(true);
    }

    /** Passes the thread to its body. */
    private record Body(Consumer<ServiceThread> body) implements Runnable {

        @Override
        public void run() {
            body.accept((ServiceThread) Thread.currentThread());
        }
    }

    /** Returns a thread, not started, that does rounds until one returns false. */
    public static ServiceThread repeating(String name, Rounds rounds) {
        return new ServiceThread(name, thread -> thread.repeat(rounds));
    }

    /**
     * Returns a thread, not started, that runs a body once.
     *
     * @param settle receives what the body has thrown, or null. If {@code settle} throws an error of the JVM, for
     *     example because the heap is full, it is called again
     */
    public static ServiceThread once(String name, Runnable body, Consumer<Throwable> settle) {
        return new ServiceThread(name, thread -> thread.runOnce(body, settle));
    }

    /** Returns a thread, not started, that runs a body once. An exception of the body is only logged. */
    public static ServiceThread once(String name, Runnable body) {
        return new ServiceThread(name, thread -> thread.runOnce(body, thread::logUnsettled));
    }

    private void repeat(Rounds rounds) {
        for (boolean more = true; more; ) {
            try {
                more = rounds.next();
                succeeded();
            } catch (Throwable problem) {
                failed(problem);
            }
        }
    }

    private void runOnce(Runnable body, Consumer<Throwable> settle) {
        Throwable thrown = null;
        try {
            body.run();
        } catch (Throwable problem) {
            thrown = problem;
        }
        for (boolean settled = false; !settled; ) {
            try {
                settle.accept(thrown);
                settled = true;
                succeeded();
            } catch (Throwable problem) {
                settled = !(problem instanceof VirtualMachineError);
                failed(problem);
            }
        }
    }

    private void logUnsettled(Throwable thrown) {
        if (thrown != null) {
            LOG.warn("thread={} ends with an error", getName(), thrown);
        }
    }

    /** Allocates nothing unless a problem must be logged. */
    private void succeeded() {
        pauseNanos = MIN_PAUSE_NANOS;
        if (firstUnlogged != null) {
            log();
        }
    }

    /** Allocates nothing for an error of the JVM. */
    private void failed(Throwable problem) {
        if (firstUnlogged == null) {
            firstUnlogged = problem;
        }
        unlogged++;
        if (!(firstUnlogged instanceof Error) || unlogged >= logAt) {
            log();
        }
        Thread.interrupted(); // if the interrupt flag is set, parkNanos returns at once
        LockSupport.parkNanos(this, pauseNanos);
        pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
    }

    private void log() {
        try {
            LOG.error("thread={} errors={}: unexpected; the thread continues", getName(), unlogged, firstUnlogged);
            firstUnlogged = null;
            unlogged = 0;
            logAt = LOG_AFTER;
        } catch (Throwable noMemory) {
            logAt = unlogged + LOG_AFTER;
        }
    }
}
