package io.jccl.init;

import io.jccl.events.CommunicatorSpan;
import io.jccl.events.JfrEvents;
import java.util.function.LongSupplier;

/** How long each step of an initialisation took, for one line of the log and for an event of JDK Flight Recorder. */
final class Timeline {

    private final CommunicatorSpan span;
    private final LongSupplier clock;
    private final long begin;
    private final StringBuilder text = new StringBuilder(160);
    private long last;

    /**
     * Starts now, by a clock in nanoseconds.
     *
     * @param phase what initialises the communicator: init, join, split, shrink or reform
     */
    Timeline(String phase, LongSupplier clock) {
        this.span = JfrEvents.beginCommunicator(phase);
        this.clock = clock;
        this.begin = clock.getAsLong();
        this.last = begin;
    }

    /** The step that ends now. */
    void step(String name) {
        long now = clock.getAsLong();
        text.append(' ').append(name).append('=').append(millis(now - last));
        last = now;
    }

    /** The communicator is initialised, or cannot be: why, or an empty text. */
    void end(String communicator, int rank, int size, String failure) {
        span.end(communicator, rank, size, describe(), failure);
    }

    /** For example {@code total=12.1ms bootstrap=8.0ms plan=0.4ms}. */
    String describe() {
        return "total=" + millis(last - begin) + text;
    }

    private static String millis(long nanos) {
        long tenths = nanos / 100_000;
        return tenths / 10 + "." + tenths % 10 + "ms";
    }
}
