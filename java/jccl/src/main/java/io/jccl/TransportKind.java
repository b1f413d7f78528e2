package io.jccl;

import java.util.Locale;

/** The kinds of transport between two ranks. */
public enum TransportKind {
    /** Both ranks are threads of one process and use each other's memory directly. */
    P2P,
    /** Two processes of one host share a memory segment. */
    SHM,
    /** A network plug-in for NCCL, between hosts whose network has one. */
    PLUGIN,
    /** InfiniBand verbs, over InfiniBand or RoCE, between hosts with adapters for it. */
    IB,
    /** TCP sockets, between hosts, and between ranks for which no faster transport is available. */
    SOCKET;

    /** Returns true if data goes through a network, even between ranks of one host. */
    public boolean isNetwork() {
        return this == PLUGIN || this == IB || this == SOCKET;
    }

    /** Returns the name that the command and messages use, for example {@code shm}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the transport with a name as the command spells it.
     *
     * @param label for example {@code shm}
     * @throws IllegalArgumentException if no transport has this name
     */
    public static TransportKind parse(String label) {
        return Names.parse(TransportKind.class, "transport", label);
    }
}
