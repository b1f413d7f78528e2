package io.jccl.init;

import java.util.function.LongSupplier;

/** How long each step took, for one line of the log. */
final class Timeline {

    private final LongSupplier clock;
    private final long begin;
    private final StringBuilder text = new StringBuilder(160);
    private long last;

    /** Starts now, by a clock in nanoseconds. */
    Timeline(LongSupplier clock) {
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

    /** For example {@code total=12.1ms bootstrap=8.0ms plan=0.4ms}. */
    String describe() {
        return "total=" + millis(last - begin) + text;
    }

    private static String millis(long nanos) {
        long tenths = nanos / 100_000;
        return tenths / 10 + "." + tenths % 10 + "ms";
    }
}
