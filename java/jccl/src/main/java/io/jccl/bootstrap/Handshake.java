package io.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * How both ends of a connection prove that they know the secret, without showing it:
 *
 * <pre>
 *   rank   > server   greeting(12) nonceC(32)
 *   server > rank     greeting(12) nonceS(32)
 *   rank   > server   HMAC(secret, "rank"   | purpose | nonceC | nonceS)
 *   server > rank     HMAC(secret, "server" | purpose | nonceC | nonceS)
 * </pre>
 *
 * <p>The rank proves first, so that an unauthenticated peer gets no proof to work on. A recorded handshake is worth
 * nothing, because both nonces are fresh. A proof for the rendezvous server does not serve for the coordinator, as its
 * purpose differs. The greeting is six letters, the version of this handshake, and the generation of the group, which
 * names the reason where an older rank is refused; nothing relies on it. Stateless; safe for use by any
 * thread.
 */
public final class Handshake {

    /** What a connection is for. */
    public enum Purpose {
        /** Ranks meet. */
        RENDEZVOUS,
        /** A rank's control connection. */
        COORDINATOR,
        /** Long answers of the coordinator are passed on. */
        RELAY,
        /** A process joins a job that runs. */
        JOIN,
        /** Somebody looks into the process. */
        STATUS
    }

    /**
     * What a server asks for.
     *
     * @param generation of the group, which its greeting says; {@link #ANY_GENERATION} if all may connect
     */
    record Key(Purpose purpose, byte[] secret, int generation) {}

    /** Says a process that joins, and does not know which generation there is. */
    static final int ANY_GENERATION = -1;

    static final int VERSION = 2;
    /** The bytes of a nonce. */
    public static final int NONCE_BYTES = 32;
    /** The bytes of a proof. */
    public static final int PROOF_BYTES = 32;
    /** The bytes of a greeting. */
    public static final int GREETING_BYTES = 12 + NONCE_BYTES;

    private static final byte[] MAGIC = "JCCLBS".getBytes(StandardCharsets.US_ASCII);
    private static final SecureRandom RANDOM = new SecureRandom();

    private Handshake() {}

    /** Random bytes that nobody can guess. */
    public static byte[] randomBytes(int n) {
        byte[] bytes = new byte[n];
        RANDOM.nextBytes(bytes);
        return bytes;
    }

    /** What each side says first, where the generation does not matter. */
    public static byte[] greeting(byte[] nonce) {
        return greeting(nonce, ANY_GENERATION);
    }

    static byte[] greeting(byte[] nonce, int generation) {
        return ByteBuffer.allocate(GREETING_BYTES)
                .put(MAGIC)
                .putShort((short) VERSION)
                .putInt(generation)
                .put(nonce)
                .array();
    }

    /**
     * The nonce of a greeting.
     *
     * @throws WireException if this is no greeting, or one of another version
     */
    public static byte[] nonceOf(byte[] greeting) {
        if (!Arrays.equals(greeting, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            throw new WireException("not a JCCL greeting");
        }
        int version = ByteBuffer.wrap(greeting).getShort(MAGIC.length) & 0xffff;
        if (version != VERSION) {
            throw new WireException("handshake version=" + version + ": expected " + VERSION
                    + "; use the same JCCL version on all ranks");
        }
        return Arrays.copyOfRange(greeting, GREETING_BYTES - NONCE_BYTES, GREETING_BYTES);
    }

    /**
     * The nonce of a greeting of a group's generation. Each generation has its own secret: this only names the reason.
     *
     * @throws WireException if this is no greeting, or one of another version or generation
     */
    static byte[] nonceOf(byte[] greeting, int generation) {
        byte[] nonce = nonceOf(greeting);
        int theirs = ByteBuffer.wrap(greeting).getInt(MAGIC.length + 2);
        if (theirs != generation && theirs != ANY_GENERATION && generation != ANY_GENERATION) {
            throw new WireException("generation=" + theirs + ": expected generation=" + generation
                    + "; the communicator was reformed, and this side or the other is of one before");
        }
        return nonce;
    }

    /** The proof of the side that connects. */
    public static byte[] rankProof(byte[] secret, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        return proof(secret, "rank", purpose, rankNonce, serverNonce);
    }

    /** The proof of the side that listens. */
    public static byte[] serverProof(byte[] secret, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        return proof(secret, "server", purpose, rankNonce, serverNonce);
    }

    private static byte[] proof(byte[] secret, String who, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        byte[] label = (who + "|" + purpose + "|").getBytes(StandardCharsets.US_ASCII);
        return HmacSha256.of(secret, label, rankNonce, serverNonce);
    }

    /** A secret of 16 bytes made from another and a label. */
    public static byte[] derive(byte[] key, String label) {
        return derive(key, label.getBytes(StandardCharsets.UTF_8));
    }

    /** A secret of 16 bytes made from another and a salt. */
    static byte[] derive(byte[] key, byte[] salt) {
        return Arrays.copyOf(HmacSha256.of(key, salt), 16);
    }

    /** Compares in constant time. */
    public static boolean same(byte[] a, byte[] b) {
        return MessageDigest.isEqual(a, b);
    }
}
