package io.jccl;

import java.util.Locale;

/** What joins two ranks. */
public enum TransportKind {
    /** Both ranks live in one process and use each other's memory as it is. */
    P2P,
    /** Two processes of one host share a memory segment. */
    SHM,
    /** A network plug-in for NCCL: between hosts whose fabric has one. */
    PLUGIN,
    /** InfiniBand verbs, over InfiniBand or RoCE: between hosts with adapters for it. */
    IB,
    /** TCP sockets: between hosts, or where nothing better works. */
    SOCKET;

    /** Whether data goes through a network, even where both ranks are on one host. */
    public boolean isNetwork() {
        return this == PLUGIN || this == IB || this == SOCKET;
    }

    /** The name used by the command and in messages, for example {@code shm}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The transport of a name as the command spells it.
     *
     * @param label for example {@code shm}
     * @throws IllegalArgumentException if no transport has this name
     */
    public static TransportKind parse(String label) {
        return Names.parse(TransportKind.class, "transport", label);
    }
}
