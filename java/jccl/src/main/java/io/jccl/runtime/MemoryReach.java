package io.jccl.runtime;

import io.jccl.PeerTransport;
import java.util.List;

/**
 * How ranks reach each other's host memory, from the nearest to the farthest. The reach decides whether registering
 * memory has an effect.
 */
enum MemoryReach {
    /** Threads of one process work in place on all memory. */
    THREADS("all ranks are threads of one process, which work in place on all memory"),
    /** Processes of one host work in place on shared memory. */
    PROCESSES("it is memory of HostBuffer, which the ranks of this host use in place without a registration"),
    /** Adapters read and write memory that is registered with them. */
    ADAPTERS("this rank uses no adapter"),
    /** Ranks use sockets, through which the operating system copies all data. */
    SOCKETS("ranks are joined by sockets, which copy all memory");

    private final String why;

    MemoryReach(String why) {
        this.why = why;
    }

    /** Returns the reach of the farthest of this rank's peers. */
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

    /** Returns true if registered memory is used in another way than other memory. */
    boolean usesRegistered() {
        return this == PROCESSES || this == ADAPTERS;
    }

    /** Returns true if operations work in place on registered memory, and on memory that needs no registration. */
    boolean isInPlace() {
        return compareTo(PROCESSES) <= 0;
    }

    /** Returns the reason why registering has no effect, for memory that was not registered. */
    String why() {
        return why;
    }
}
