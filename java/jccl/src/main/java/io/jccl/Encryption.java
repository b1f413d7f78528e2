package io.jccl;

import java.util.Locale;

/**
 * Whether the TCP connections of a communicator are encrypted. All ranks must have the same value. Encrypted connections
 * are confidential, and each message is authenticated and in order; {@code docs/security.md} says what this protects.
 */
public enum Encryption {
    /** Connections are authenticated when they are made, and not encrypted. */
    OFF,
    /** All TCP connections are encrypted. A warning names what goes without: InfiniBand verbs, most plug-ins. */
    ON,
    /**
     * Like {@link #ON}, but what cannot be encrypted is not used, and the communicator is not initialised if its secret
     * is guessable.
     */
    REQUIRED;

    /** Returns true if TCP connections are encrypted. */
    public boolean isUsed() {
        return this != OFF;
    }

    /** Returns the name that settings and messages use, for example {@code required}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
