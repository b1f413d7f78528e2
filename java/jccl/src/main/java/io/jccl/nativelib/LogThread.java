package io.jccl.nativelib;

import io.jccl.JcclException;
import io.jccl.internal.ExitHook;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.SharedThreads;
import io.jccl.internal.Threads;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.LoggerFactory;

/**
 * The thread that moves native log records into SLF4J while native code may log: from the first call of native code
 * until nothing uses it any more. Afterwards neither a thread nor a shutdown hook is left, because either would keep
 * the class loader of these classes reachable.
 *
 * <p>Objects with native threads or long calls hold a {@link Use}. After a single call, the thread looks for records
 * once or twice and ends.
 */
final class LogThread {

    private static final LogThread SHARED =
            new LogThread(new LogDrain(NativeLog::take, NativeLog::dropped, LoggerFactory::getLogger));

    private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long END_NANOS =
            TimeUnit.SECONDS.toNanos(1); // an appender may hang, but close() and the end of the JVM must not
    private static final long JOIN_MILLIS = 10;
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LogDrain drain;
    private int uses; // guarded by this
    private Thread thread; // guarded by this; null if there is none
    private Optional<ExitHook> exitHook = Optional.empty(); // guarded by this
    private boolean warned; // guarded by this; true after a warning that the thread could not be started
    private long refusedNanos; // guarded by this; time of the last failure to start the thread
    private volatile boolean running;

    private LogThread(LogDrain drain) {
        this.drain = drain;
    }

    /**
     * Starts the thread before a call of native code. The library must be loaded. Reads only one field if the thread
     * runs.
     */
    static void serve() {
        if (!SHARED.running) {
            SHARED.start();
        }
    }

    /** Moves the records of a single call that must not start the thread; does nothing if the thread runs. */
    static void serveOnce() {
        if (!SHARED.running) {
            SHARED.drain.drainQuietly();
        }
    }

    /** A use of native code that may log at any time until the use is closed. */
    static final class Use implements AutoCloseable {

        private boolean closed; // guarded by this

        private Use() {}

        /** Passes all earlier messages to SLF4J, unless its appenders are slow. Closing again does nothing. */
        @Override
        public void close() {
            synchronized (this) {
                if (closed) {
                    return;
                }
                closed = true;
            }
            SHARED.end();
        }
    }

    /** Begins a use. The library must be loaded. */
    static Use use() {
        SHARED.begin();
        return new Use();
    }

    private synchronized void begin() {
        uses++;
        start();
    }

    private synchronized void start() {
        if (thread != null || warned && System.nanoTime() - refusedNanos < RETRY_NANOS) {
            return;
        }
        NativeLog.setLevel(LogDrain.lowest(LoggerFactory.getLogger(LogDrain.ROOT)));
        Thread starting = SharedThreads.create(() -> ServiceThread.repeating("jccl-log", this::round));
        Optional<JcclException> refused = Threads.tryStart(starting);
        if (refused.isPresent()) {
            if (!warned) {
                warned = true;
                LoggerFactory.getLogger(LogThread.class)
                        .warn(
                                "native code's log comes late, or is lost: {}",
                                refused.get().getMessage());
            }
            refusedNanos = System.nanoTime();
            return; // a later call of native code tries again, but seldom: the JVM prints two lines for each failure
        }
        thread = starting;
        running = true;
        exitHook = ExitHook.add("jccl-log-exit", this::drainLast); // if the JVM is ending, records may be lost
    }

    private void end() {
        Thread ending;
        synchronized (this) {
            uses--;
            if (uses > 0 || thread == null) {
                return;
            }
            ending = thread;
        }
        LockSupport.unpark(ending);
        awaitEnd(ending, this::isUnused);
    }

    private boolean round() {
        LockSupport.parkNanos(this, PERIOD_NANOS);
        Thread.interrupted(); // an appender may have set the interrupt flag, which prevents sleeping
        boolean unused = isUnused(); // read before draining, so that the records of the last use are moved, too
        drain.drainQuietly();
        return !(unused && endIfUnused());
    }

    private synchronized boolean isUnused() {
        return uses == 0;
    }

    private synchronized boolean endIfUnused() {
        if (uses > 0) {
            return false;
        }
        running = false;
        thread = null;
        exitHook.ifPresent(ExitHook::remove);
        exitHook = Optional.empty();
        return true;
    }

    /** Moves the last records, for example those of a communicator that was closed just before the JVM ends. */
    private void drainLast() {
        Thread last = SharedThreads.create(() -> ServiceThread.once("jccl-log", drain::drainQuietly));
        if (Threads.tryStart(last).isPresent()) {
            return; // these records are lost: this thread must not call an appender, which may hang
        }
        awaitEnd(last, () -> true);
    }

    /** Waits for a thread for a bounded time, and only while a condition holds. */
    private static void awaitEnd(Thread ending, BooleanSupplier condition) {
        if (ending == Thread.currentThread()) {
            return; // this thread cannot wait for itself: an appender has closed the last communicator
        }
        boolean interrupted = false;
        long deadline = System.nanoTime() + END_NANOS;
        while (ending.isAlive() && condition.getAsBoolean() && System.nanoTime() - deadline < 0) {
            try {
                ending.join(JOIN_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
