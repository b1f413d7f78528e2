package io.jccl.wire;

import java.util.HexFormat;

/** Identities and keys that ranks derive from the secret of a communicator or of a job. */
public final class SessionKeys {

    private static final int NAME_BYTES = 4;

    private SessionKeys() {}

    /** Derives the id of a communicator's session from its secret. */
    public static byte[] sessionId(byte[] secret) {
        return Handshake.derive(secret, "session");
    }

    /** Returns the short name of a session for ids and logs. */
    public static String name(byte[] sessionId) {
        return HexFormat.of().formatHex(sessionId, 0, NAME_BYTES);
    }

    /** Derives the key that a joining process proves, from the secret by which the ranks of the job have met. */
    public static byte[] jobKey(byte[] secret) {
        return Handshake.derive(secret, "job");
    }
}
