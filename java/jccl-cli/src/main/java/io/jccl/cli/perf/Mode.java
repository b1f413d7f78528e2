package io.jccl.cli.perf;

import java.util.Locale;

/** How the operations of a measurement follow one another. */
enum Mode {
    /** Each operation is awaited before the next one is issued. */
    AWAIT,
    /** Operations are put on a stream, which is awaited once for many of them. */
    STREAM,
    /** A captured graph of operations is replayed. */
    GRAPH;

    static Mode parse(String label) {
        for (Mode mode : values()) {
            if (mode.label().equalsIgnoreCase(label)) {
                return mode;
            }
        }
        throw new IllegalArgumentException("mode=\"" + label + "\": unknown; name one of [await, stream, graph]");
    }

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
