package io.jccl.transport;

import java.util.Objects;

/**
 * What decides about the transport between two ranks.
 *
 * @param rank the rank
 * @param hostId tells machines apart
 * @param process tells processes apart, on whatever machine
 * @param connectInfo what the native engine needs to connect to this rank; opaque
 */
public record PeerIdentity(int rank, String hostId, String process, byte[] connectInfo) {

    /** Checks that nothing is missing. */
    public PeerIdentity {
        Objects.requireNonNull(hostId, "hostId");
        Objects.requireNonNull(process, "process");
        Objects.requireNonNull(connectInfo, "connectInfo");
    }

    /** Whether both ranks are on one machine. */
    public boolean sameHost(PeerIdentity other) {
        return hostId.equals(other.hostId);
    }

    /** Whether both ranks are threads of one process. Ranks that act different machines never are. */
    public boolean sameProcess(PeerIdentity other) {
        return sameHost(other) && process.equals(other.process);
    }
}
