package io.jccl.nativelib;

import io.jccl.events.LogContext;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves native log records into SLF4J, to the logger {@code io.jccl.<subsystem>}. Uses what SLF4J 1.7 has as well,
 * which some applications put on the class path.
 */
final class LogDrain {

    private static final String ROOT = "io.jccl";
    private static final long PERIOD_MILLIS = 100;
    private static final long EXIT_MILLIS = 1000; // an appender may hang, and the JVM is to end

    // The levels of native/base/log.h.
    private static final int TRACE = 0;
    private static final int DEBUG = 1;
    private static final int INFO = 2;
    private static final int WARN = 3;
    private static final int ERROR = 4;

    private final Supplier<String> records;
    private final LongSupplier dropped;
    private final Function<String, Logger> loggers;
    private long droppedBefore;

    /**
     * @param records the oldest record, see {@link NativeLog#take()}
     * @param dropped how many were lost so far
     * @param loggers a logger by its name
     */
    LogDrain(Supplier<String> records, LongSupplier dropped, Function<String, Logger> loggers) {
        this.records = records;
        this.dropped = dropped;
        this.loggers = loggers;
    }

    /** Starts the thread that drains for as long as the process lives; it keeps no class loader and no JVM alive. */
    static void start() {
        NativeLog.setLevel(lowest(LoggerFactory.getLogger(ROOT)));
        LogDrain drain = new LogDrain(NativeLog::take, NativeLog::dropped, LoggerFactory::getLogger);
        startThread(drain::run);
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> drainLast(drain), "jccl-log-exit"));
        } catch (IllegalStateException e) {
            // The JVM ends already: what is logged from now on may be lost.
        }
    }

    private static Thread startThread(Runnable body) {
        Thread thread = new Thread(body, "jccl-log");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
        return thread;
    }

    /** What has come since the thread looked last, as from the close of a communicator just before the end. */
    private static void drainLast(LogDrain drain) {
        try {
            startThread(drain::drain).join(EXIT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The number of the lowest level that a logger lets through; records below it need not be made. */
    static int lowest(Logger logger) {
        if (logger.isTraceEnabled()) {
            return TRACE;
        }
        if (logger.isDebugEnabled()) {
            return DEBUG;
        }
        if (logger.isInfoEnabled()) {
            return INFO;
        }
        return logger.isWarnEnabled() ? WARN : ERROR;
    }

    private void run() {
        try {
            while (true) {
                drain();
                Thread.sleep(PERIOD_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // an interrupt ends the thread
        }
    }

    /** Moves everything that is there. */
    synchronized void drain() {
        for (String record = records.get(); record != null; record = records.get()) {
            emit(record);
        }
        long lost = dropped.getAsLong();
        if (lost > droppedBefore) {
            loggers.apply(ROOT + ".log")
                    .warn("dropped={} native log records: more came than could be taken", lost - droppedBefore);
            droppedBefore = lost;
        }
    }

    @SuppressWarnings("try") // a context of log records is there to be current
    private void emit(String record) {
        String[] parts = record.split(" ", 5);
        Logger logger = loggers.apply(ROOT + "." + parts[1]);
        try (LogContext logs = contextOf(parts[2], parts[3])) {
            log(logger, Integer.parseInt(parts[0]), parts[4]);
        }
    }

    private static LogContext contextOf(String rank, String communicator) {
        return rank.isEmpty()
                ? null
                : LogContext.of(Integer.parseInt(rank), communicator.isEmpty() ? null : communicator);
    }

    private static void log(Logger logger, int level, String text) {
        switch (level) {
            case TRACE -> logger.trace(text);
            case DEBUG -> logger.debug(text);
            case INFO -> logger.info(text);
            case WARN -> logger.warn(text);
            default -> logger.error(text);
        }
    }
}
