package io.jccl.nativelib;

import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Moves native log records into SLF4J, to the logger {@code io.jccl.<subsystem>}. */
final class LogDrain {

    private static final String ROOT = "io.jccl";
    private static final long PERIOD_MILLIS = 100;
    private static final Level[] LEVELS = {Level.TRACE, Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR};

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
        Thread thread = new Thread(drain::run, "jccl-log");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    /** The number of the lowest level that a logger lets through; records below it need not be made. */
    static int lowest(Logger logger) {
        for (int level = 0; level < LEVELS.length; level++) {
            if (logger.isEnabledForLevel(LEVELS[level])) {
                return level;
            }
        }
        return LEVELS.length - 1;
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

    private void emit(String record) {
        String[] parts = record.split(" ", 3);
        loggers.apply(ROOT + "." + parts[1])
                .atLevel(LEVELS[Integer.parseInt(parts[0])])
                .log(parts[2]);
    }
}
