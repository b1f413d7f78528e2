package io.jccl.nativelib;

import io.jccl.JcclException;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.SharedThreads;
import io.jccl.internal.Threads;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.LoggerFactory;

/**
 * The thread that moves native log records into SLF4J, while anything native may log: from the first call of native code
 * until nothing uses it any more. It then leaves neither a thread nor a shutdown hook, which would keep the class loader
 * of these classes for ever.
 *
 * <p>Objects with native threads or long calls hold a {@link Use}. For single calls the thread looks once or twice and ends.
 */
final class LogThread {

    private static final LogThread SHARED =
            new LogThread(new LogDrain(NativeLog::take, NativeLog::dropped, LoggerFactory::getLogger));

    private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long END_NANOS =
            TimeUnit.SECONDS.toNanos(1); // an appender may hang; close() and the JVM may not
    private static final long JOIN_MILLIS = 10;
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LogDrain drain;
    private int uses; // guarded by this
    private Thread thread; // guarded by this; null: there is none
    private Thread exitHook; // guarded by this; null: there is none
    private boolean warned; // guarded by this; that there is no thread
    private long refusedNanos; // guarded by this; when there last was none
    private volatile boolean running;

    private LogThread(LogDrain drain) {
        this.drain = drain;
    }

    /** The library is loaded and native code is about to be called. Reads one field while the thread is there. */
    static void serve() {
        if (!SHARED.running) {
            SHARED.start();
        }
    }

    /** Moves what a single call has logged, where no thread does; for calls that must not start one. */
    static void serveOnce() {
        if (!SHARED.running) {
            SHARED.drain.drainQuietly();
        }
    }

    /** Something native that may log at any time, until it is closed. */
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

    /** Begins a use; the library is loaded. */
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
            return; // a later call of native code tries again; the JVM prints two lines each time
        }
        thread = starting;
        running = true;
        exitHook = SharedThreads.create(() -> ServiceThread.once("jccl-log-exit", this::drainLast));
        try {
            Runtime.getRuntime().addShutdownHook(exitHook);
        } catch (IllegalStateException e) {
            exitHook = null; // the JVM ends already: what is logged from now on may be lost
        }
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
        Thread.interrupted(); // an appender's; with it the thread could not sleep
        boolean unused = isUnused(); // before it looks: what the last use has logged is moved, too
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
        if (exitHook != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(exitHook);
            } catch (IllegalStateException e) {
                // The JVM ends, and the hook runs.
            }
            exitHook = null;
        }
        return true;
    }

    /** Moves what has come since the thread looked last, as from the close of a communicator just before the JVM's end. */
    private void drainLast() {
        Thread last = SharedThreads.create(() -> ServiceThread.once("jccl-log", drain::drainQuietly));
        if (Threads.tryStart(last).isPresent()) {
            return; // without a thread that may hang, these records are lost
        }
        awaitEnd(last, () -> true);
    }

    /** Waits for a thread for a bounded time, and only while a condition holds. */
    private static void awaitEnd(Thread ending, BooleanSupplier condition) {
        if (ending == Thread.currentThread()) {
            return; // an appender closed the last communicator
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
