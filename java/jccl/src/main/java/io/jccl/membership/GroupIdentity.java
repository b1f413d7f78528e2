package io.jccl.membership;

import io.jccl.wire.Handshake;
import io.jccl.wire.SessionKeys;

/** The properties of a group that its connections need. They can be known before the group exists. */
@SuppressWarnings("ArrayRecordComponent") // groups are not compared
public record GroupIdentity(int rank, int size, byte[] secret) {

    /**
     * Returns 16 bytes that only the members know, the same on every rank: the key for the group's other connections.
     * No other group has the same key, not even one with the same ranks and id. So a connection of an older group
     * cannot be taken for one of this group.
     */
    public byte[] dataKey() {
        return Handshake.derive(secret, "data");
    }

    /** Returns 16 bytes that identify the group, the same on every rank. They are not secret. */
    public byte[] sessionId() {
        return SessionKeys.sessionId(secret);
    }

    /** Returns a short name of the group, the same on every rank. */
    public String name() {
        return SessionKeys.name(sessionId());
    }
}
