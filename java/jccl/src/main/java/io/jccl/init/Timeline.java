package io.jccl.init;

import io.jccl.events.CommunicatorSpan;
import io.jccl.events.JfrEvents;
import java.util.function.LongSupplier;

/** Times the steps of an initialisation, for one line of the log and for an event of JDK Flight Recorder. */
final class Timeline {

    private final CommunicatorSpan span;
    private final LongSupplier clock;
    private final long begin;
    private final StringBuilder text = new StringBuilder(160);
    private long last;

    /**
     * Starts the first step now.
     *
     * @param phase the kind of initialisation: init, join, split, shrink or reform
     * @param clock the time in nanoseconds
     */
    Timeline(String phase, LongSupplier clock) {
        this.span = JfrEvents.beginCommunicator(phase);
        this.clock = clock;
        this.begin = clock.getAsLong();
        this.last = begin;
    }

    /** Ends the step {@code name} now, and starts the next one. */
    void step(String name) {
        long now = clock.getAsLong();
        text.append(' ').append(name).append('=').append(millis(now - last));
        last = now;
    }

    /** Ends the timeline. {@code failure} says why the communicator cannot be initialised; empty on success. */
    void end(String communicator, int rank, int size, String failure) {
        span.end(communicator, rank, size, describe(), failure);
    }

    /** Returns the times as text, for example {@code total=12.1ms bootstrap=8.0ms plan=0.4ms}. */
    String describe() {
        return "total=" + millis(last - begin) + text;
    }

    private static String millis(long nanos) {
        long tenths = nanos / 100_000;
        return tenths / 10 + "." + tenths % 10 + "ms";
    }
}
