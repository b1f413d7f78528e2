package io.jccl.transport;

import java.util.Objects;

/**
 * What decides about the transport between two ranks.
 *
 * @param rank the rank
 * @param hostId differs between hosts
 * @param process differs between processes, on any host
 * @param connectInfo what the native engine needs to connect to this rank; opaque
 */
public record PeerIdentity(int rank, String hostId, String process, byte[] connectInfo) {

    /** Checks that nothing is missing. */
    public PeerIdentity {
        Objects.requireNonNull(hostId, "hostId");
        Objects.requireNonNull(process, "process");
        Objects.requireNonNull(connectInfo, "connectInfo");
    }

    /** Whether both ranks are on one host. */
    public boolean sameHost(PeerIdentity other) {
        return hostId.equals(other.hostId);
    }

    /** Whether both ranks are threads of one process. Ranks of different simulated hosts never are. */
    public boolean sameProcess(PeerIdentity other) {
        return sameHost(other) && process.equals(other.process);
    }
}
