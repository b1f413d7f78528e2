package io.jccl.nativelib;

import io.jccl.events.LogContext;
import java.lang.annotation.Native;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;

/**
 * Moves native log records into SLF4J, to the logger {@code io.jccl.<subsystem>}. Uses only the interface of SLF4J 1.7,
 * which some applications have on the class path.
 */
final class LogDrain {

    static final String ROOT = "io.jccl";

    // Numbers of levels, which native/jni/native_log.cc compares with those of C++.

    @Native
    private static final int TRACE = 0;

    @Native
    private static final int DEBUG = 1;

    @Native
    private static final int INFO = 2;

    @Native
    private static final int WARN = 3;

    @Native
    private static final int ERROR = 4;

    private final Supplier<String> records;
    private final LongSupplier dropped;
    private final Function<String, Logger> loggers;
    private long droppedBefore;

    /**
     * @param records supplies the oldest record, see {@link NativeLog#take()}
     * @param dropped supplies the number of records that were lost so far
     * @param loggers returns the logger of a name
     */
    LogDrain(Supplier<String> records, LongSupplier dropped, Function<String, Logger> loggers) {
        this.records = records;
        this.dropped = dropped;
        this.loggers = loggers;
    }

    /** Returns the lowest level that a logger logs. Records below it need not be made. */
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

    /**
     * Like {@link #drain}, but hides exceptions of appenders, and of a closed class loader, from callers that cannot
     * handle them.
     */
    void drainQuietly() {
        try {
            drain();
        } catch (RuntimeException | Error e) {
            // No log could take this exception. The record is lost; later records may get through.
        }
    }

    /** Moves all records, and logs how many were lost. */
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

    @SuppressWarnings("try") // the log context has its effect while it is open
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
