package io.jccl.runtime;

import io.jccl.PeerTransport;
import java.util.List;

/** How ranks reach each other's memory of the host, which decides what registering it is good for. */
enum MemoryReach {
    /** Memory is used in place as it is. */
    THREADS("all ranks are threads of one process, which work in place on all memory"),
    /** Shared memory is used in place. */
    PROCESSES("it is memory of HostBuffer, which the ranks of this host use in place without"),
    /** Adapters read and write memory that is registered with them. */
    ADAPTERS("this rank uses no adapter"),
    /** The system copies memory. */
    SOCKETS("ranks are joined by sockets, which copy all memory");

    private final String why;

    MemoryReach(String why) {
        this.why = why;
    }

    /** The farthest of this rank's peers. */
    static MemoryReach of(List<PeerTransport> transports) {
        MemoryReach reach = THREADS;
        for (PeerTransport one : transports) {
            reach = reach.farther(
                    switch (one.kind()) {
                        case P2P -> THREADS;
                        case SHM -> PROCESSES;
                        case PLUGIN, IB -> ADAPTERS;
                        case SOCKET -> SOCKETS;
                    });
        }
        return reach;
    }

    MemoryReach farther(MemoryReach other) {
        return compareTo(other) < 0 ? other : this;
    }

    /** Whether registered memory is used in another way than other memory. */
    boolean usesRegistered() {
        return this == PROCESSES || this == ADAPTERS;
    }

    /** Whether operations on registered memory, or on memory that needs no registration, work in place. */
    boolean isInPlace() {
        return compareTo(PROCESSES) <= 0;
    }

    /** Why registering has no effect where nothing was registered. */
    String why() {
        return why;
    }
}
