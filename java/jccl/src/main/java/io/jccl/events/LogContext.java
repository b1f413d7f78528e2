package io.jccl.events;

import org.slf4j.MDC;

/**
 * Sets the rank and the communicator in the log records of a thread, as SLF4J's mapped diagnostic context. Closing it
 * restores the previous values.
 */
public final class LogContext implements AutoCloseable {

    /** Key of the rank in the diagnostic context. */
    public static final String RANK = "jccl.rank";

    /** Key of the communicator's id; absent until the ranks have agreed on one. */
    public static final String COMMUNICATOR = "jccl.communicator";

    private final String rankBefore;
    private final String communicatorBefore;

    private LogContext(int rank, String communicator) {
        rankBefore = MDC.get(RANK);
        communicatorBefore = MDC.get(COMMUNICATOR);
        set(RANK, Integer.toString(rank));
        set(COMMUNICATOR, communicator);
    }

    /** Sets the context of this thread until the result is closed. */
    public static LogContext of(int rank, String communicator) {
        return new LogContext(rank, communicator);
    }

    /** Sets the context of this thread until the result is closed, for a communicator that has no id yet. */
    public static LogContext of(int rank) {
        return new LogContext(rank, null);
    }

    @Override
    public void close() {
        set(RANK, rankBefore);
        set(COMMUNICATOR, communicatorBefore);
    }

    private static void set(String key, String value) {
        if (value == null) {
            MDC.remove(key);
        } else {
            MDC.put(key, value);
        }
    }
}
