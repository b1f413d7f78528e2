package io.jccl.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * The handshake by which both ends of a connection prove that they know the secret, without revealing it:
 *
 * <pre>
 *   rank   > server   greeting(12) nonceC(32)
 *   server > rank     greeting(12) nonceS(32)
 *   rank   > server   HMAC(secret, "rank"   | purpose | nonceC | nonceS)
 *   server > rank     HMAC(secret, "server" | purpose | nonceC | nonceS)
 * </pre>
 *
 * <p>The rank proves first, so that an unauthenticated peer gets no proof to work on. A recorded handshake is
 * worthless, because both nonces are fresh. A proof for the rendezvous server is invalid at the coordinator, because
 * their purposes differ. The greeting is six letters, the version of this handshake, and the generation of the group.
 * The generation only serves to name the reason when an older rank is refused; nothing relies on it. Stateless; safe
 * for use by any thread.
 */
public final class Handshake {

    /** The purpose of a connection. */
    public enum Purpose {
        /** A rank registers at the rendezvous server. */
        RENDEZVOUS,
        /** A rank's control connection. */
        COORDINATOR,
        /** A rank forwards long answers of the coordinator to another rank. */
        RELAY,
        /** A process joins a running job. */
        JOIN,
        /** A client such as {@code jccl ps} reads the state of the process. */
        STATUS
    }

    /**
     * The proof that a server demands.
     *
     * @param generation the generation of the group, which the server's greeting contains; {@link #ANY_GENERATION} if
     *     peers of any generation may connect
     * @param encrypted true if connections are encrypted; peers that would not encrypt are then refused
     */
    public record Key(Purpose purpose, byte[] secret, int generation, boolean encrypted) {}

    /** The generation in the greeting of a peer that does not know the group's, such as a process that joins. */
    public static final int ANY_GENERATION = -1;

    static final int VERSION = 2;

    /** The version in the header of {@link EncryptedHandshake}. */
    static final int ENCRYPTED_VERSION = 3;

    /** The length in bytes of a greeting without its nonce. */
    public static final int HEADER_BYTES = 12;

    /** The length of a nonce in bytes. */
    public static final int NONCE_BYTES = 32;
    /** The length of a proof in bytes. */
    public static final int PROOF_BYTES = 32;
    /** The length of a greeting with its nonce in bytes. */
    public static final int GREETING_BYTES = HEADER_BYTES + NONCE_BYTES;

    private static final byte[] MAGIC = "JCCLBS".getBytes(StandardCharsets.US_ASCII);
    private static final SecureRandom RANDOM = new SecureRandom();

    private Handshake() {}

    /** Returns random bytes that nobody can guess. */
    public static byte[] randomBytes(int n) {
        byte[] bytes = new byte[n];
        RANDOM.nextBytes(bytes);
        return bytes;
    }

    /** Returns the first message of each side, for connections whose generation does not matter. */
    public static byte[] greeting(byte[] nonce) {
        return greeting(nonce, ANY_GENERATION);
    }

    public static byte[] greeting(byte[] nonce, int generation) {
        return ByteBuffer.allocate(GREETING_BYTES)
                .put(header(VERSION, generation))
                .put(nonce)
                .array();
    }

    /** Returns the bytes with which the first message of each side begins. */
    static byte[] header(int version, int generation) {
        return ByteBuffer.allocate(HEADER_BYTES)
                .put(MAGIC)
                .putShort((short) version)
                .putInt(generation)
                .array();
    }

    /** Returns true if a header is one of this handshake, of any generation. */
    public static boolean isPlain(byte[] header) {
        return Arrays.equals(header, 0, MAGIC.length, MAGIC, 0, MAGIC.length)
                && ByteBuffer.wrap(header).getShort(MAGIC.length) == VERSION;
    }

    /** Returns true if the first message of a side is one of {@link EncryptedHandshake}. Reads only the header. */
    public static boolean isEncrypted(byte[] greeting) {
        return Arrays.equals(greeting, 0, MAGIC.length, MAGIC, 0, MAGIC.length)
                && ByteBuffer.wrap(greeting).getShort(MAGIC.length) == ENCRYPTED_VERSION;
    }

    /**
     * Returns the nonce of a greeting.
     *
     * @throws WireException if the bytes are not a greeting, or one of another version
     */
    public static byte[] nonceOf(byte[] greeting) {
        requireVersion(greeting, VERSION);
        return Arrays.copyOfRange(greeting, GREETING_BYTES - NONCE_BYTES, GREETING_BYTES);
    }

    private static void requireVersion(byte[] greeting, int expected) {
        if (!Arrays.equals(greeting, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            throw new WireException("not a JCCL greeting");
        }
        int version = ByteBuffer.wrap(greeting).getShort(MAGIC.length) & 0xffff;
        if (version != expected) {
            throw new WireException("handshake version=" + version + ": expected " + expected
                    + "; use the same JCCL version on all ranks");
        }
    }

    /**
     * Returns the nonce of a greeting, after a check of its generation. Each generation has its own secret, so the
     * check only serves to name the reason of a refusal.
     *
     * @throws WireException if the bytes are not a greeting, or one of another version or generation
     */
    public static byte[] nonceOf(byte[] greeting, int generation) {
        byte[] nonce = nonceOf(greeting);
        requireGeneration(greeting, generation);
        return nonce;
    }

    /**
     * Checks the header of a first message of {@link EncryptedHandshake}.
     *
     * @throws WireException if the bytes are not such a header, or one of another version or generation
     */
    public static void requireEncrypted(byte[] header, int generation) {
        requireVersion(header, ENCRYPTED_VERSION);
        requireGeneration(header, generation);
    }

    private static void requireGeneration(byte[] greeting, int generation) {
        int theirs = ByteBuffer.wrap(greeting).getInt(MAGIC.length + 2);
        if (theirs != generation && theirs != ANY_GENERATION && generation != ANY_GENERATION) {
            throw new WireException("generation=" + theirs + ": expected generation=" + generation
                    + "; the communicator was reformed, and this side or the other is of one before");
        }
    }

    /** Returns the proof of the side that connects. */
    public static byte[] rankProof(byte[] secret, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        return proof(secret, "rank", purpose, rankNonce, serverNonce);
    }

    /** Returns the proof of the side that listens. */
    public static byte[] serverProof(byte[] secret, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        return proof(secret, "server", purpose, rankNonce, serverNonce);
    }

    private static byte[] proof(byte[] secret, String who, Purpose purpose, byte[] rankNonce, byte[] serverNonce) {
        byte[] label = (who + "|" + purpose + "|").getBytes(StandardCharsets.US_ASCII);
        return HmacSha256.of(secret, label, rankNonce, serverNonce);
    }

    /** Derives a secret of 16 bytes from another secret and a label. */
    public static byte[] derive(byte[] key, String label) {
        return derive(key, label.getBytes(StandardCharsets.UTF_8));
    }

    /** Derives a secret of 16 bytes from another secret and a salt. */
    public static byte[] derive(byte[] key, byte[] salt) {
        return Arrays.copyOf(HmacSha256.of(key, salt), 16);
    }

    /** Compares in constant time. */
    public static boolean same(byte[] a, byte[] b) {
        return MessageDigest.isEqual(a, b);
    }
}
