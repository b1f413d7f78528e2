package io.jccl.transport;

import java.util.Objects;

/**
 * The facts about a rank that decide about its transports.
 *
 * @param rank the rank
 * @param hostId differs between hosts
 * @param process differs between processes of all hosts
 * @param connectInfo the bytes that the native engine of another rank needs to connect to this rank; opaque
 */
public record PeerIdentity(int rank, String hostId, String process, byte[] connectInfo) {

    public PeerIdentity {
        Objects.requireNonNull(hostId, "hostId");
        Objects.requireNonNull(process, "process");
        Objects.requireNonNull(connectInfo, "connectInfo");
    }

    /** Returns true if both ranks are on one host. */
    public boolean sameHost(PeerIdentity other) {
        return hostId.equals(other.hostId);
    }

    /** Returns true if both ranks are threads of one process. Ranks of different simulated hosts never are. */
    public boolean sameProcess(PeerIdentity other) {
        return sameHost(other) && process.equals(other.process);
    }
}
