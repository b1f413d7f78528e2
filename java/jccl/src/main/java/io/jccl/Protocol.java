package io.jccl;

import java.util.Locale;

/**
 * How a chunk of data and its arrival are written. The order of the constants is part of the native interface. JCCL
 * chooses a protocol for each operation; {@link CommunicatorConfig.Builder#protocol} forces one.
 */
public enum Protocol {
    /** A flag in every 8 bytes: lowest latency, half the bandwidth. */
    LL,
    /** A flag in every 128 bytes: low latency, 94 % of the bandwidth. */
    LL128,
    /** Bulk data and one counter: full bandwidth, higher latency. */
    SIMPLE;

    /** Returns the name that the command and messages use, for example {@code ll128}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the protocol with a name as the command spells it.
     *
     * @param label for example {@code ll128}
     * @throws IllegalArgumentException if no protocol has this name
     */
    public static Protocol parse(String label) {
        return Names.parse(Protocol.class, "protocol", label);
    }
}
