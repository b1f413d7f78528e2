package io.jccl.control;

import io.jccl.internal.ExitHook;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Coordinators whose rank 0 has closed its communicator, while other ranks still need them. The JVM does not end before
 * them, unless it is killed.
 */
final class LingeringServers {

    /** A coordinator that lingers. */
    interface Lingering {

        /** Waits until the coordinator has ended, for a limited time. */
        void awaitEnd();
    }

    private static final Set<Lingering> SERVERS = new HashSet<>();
    private static ExitHook exitHook;

    private LingeringServers() {}

    /** Adds a server; returns false if the JVM is ending already. */
    static synchronized boolean add(Lingering server) {
        if (exitHook == null) {
            Optional<ExitHook> added = ExitHook.add("jccl-exit", LingeringServers::awaitAll);
            if (added.isEmpty()) {
                return false;
            }
            exitHook = added.get();
        }
        SERVERS.add(server);
        return true;
    }

    /** Removes a server that has closed. Does nothing if it was not added. */
    static synchronized void remove(Lingering server) {
        if (SERVERS.remove(server) && SERVERS.isEmpty()) {
            exitHook.remove();
            exitHook = null;
        }
    }

    private static synchronized List<Lingering> all() {
        return List.copyOf(SERVERS);
    }

    private static void awaitAll() {
        all().forEach(Lingering::awaitEnd);
    }
}
