package io.jccl;

import java.util.Locale;

/**
 * How a chunk of data is passed from one rank to the next. The order of the constants is part of the native interface.
 * Left to itself, JCCL chooses per operation; {@link CommunicatorConfig.Builder#protocol} forces one.
 */
public enum Protocol {
    /** A flag in every 8 bytes: the lowest latency, half the bandwidth. */
    LL,
    /** A flag in every 128 bytes: low latency, 94 % of the bandwidth. */
    LL128,
    /** Bulk memory and one counter: full bandwidth, higher latency. */
    SIMPLE;

    /** The name used by the command and in messages, for example {@code ll128}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The protocol of a name as the command spells it.
     *
     * @param label for example {@code ll128}
     * @throws IllegalArgumentException if no protocol has this name
     */
    public static Protocol parse(String label) {
        return Names.parse(Protocol.class, "protocol", label);
    }
}
