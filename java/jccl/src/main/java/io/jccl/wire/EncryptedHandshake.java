package io.jccl.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The handshake of encrypted connections, in place of {@link Handshake}'s. Its cryptography is {@link NoiseHandshake}.
 *
 * <pre>
 *   rank   > server   header(12), first message of Noise(48)
 *   server > rank     header(12), second message of Noise(48)
 *   rank   > server   empty record(18), the first of the transport
 * </pre>
 *
 * <p>The pre-shared key is derived from the secret. The prologue is the purpose and the rank's header, so a message for
 * one purpose is invalid for all others. The server sends its header before it checks the first message, so that a rank
 * with another secret can tell a refusal from a lost connection. Whoever repeats a recorded first message gets the
 * second one, but cannot make the record that follows.
 */
public final class EncryptedHandshake {

    /** The length of the message after the header in bytes. */
    public static final int MESSAGE_BYTES = NoiseHandshake.MESSAGE_BYTES;

    /** The length of the first message of each side in bytes. */
    public static final int GREETING_BYTES = Handshake.HEADER_BYTES + MESSAGE_BYTES;

    /** The length in bytes of the record that confirms the handshake. */
    public static final int CONFIRMATION_BYTES = Records.CONFIRMATION_BYTES;

    private static final byte[] NOTHING = new byte[0];

    private final NoiseHandshake noise;
    private final byte[] header;

    /** Begins the handshake of the side that connects. */
    public EncryptedHandshake(byte[] secret, Handshake.Purpose purpose, int generation) {
        header = Handshake.header(Handshake.ENCRYPTED_VERSION, generation);
        noise = noise(true, secret, purpose, header);
    }

    /**
     * Checks that this JDK can encrypt.
     *
     * @throws IllegalStateException if it cannot; the message names the remedy
     */
    public static void requireAlgorithms() {
        NoiseHandshake.requireAlgorithms();
    }

    /** Returns the first message. */
    public byte[] greeting() {
        return concatenated(header, noise.write(NOTHING));
    }

    /**
     * Reads the message after the server's header, and encrypts the channel. The caller then sends the result without
     * encryption.
     *
     * @return the record that confirms the handshake
     * @throws WireException if the server does not know the secret
     */
    public byte[] complete(byte[] message, WireChannel channel) {
        noise.read(message);
        Records records = new Records(noise.split());
        byte[] confirmation = records.confirmation();
        channel.encrypt(records);
        return confirmation;
    }

    /** The server's side after the first message of a rank. */
    public static final class Accepted {

        private final Handshake.Key key;
        private final byte[] answer;
        private final Records records; // the first record must be the confirmation

        private Accepted(Handshake.Key key, byte[] answer, Records records) {
            this.key = key;
            this.answer = answer;
            this.records = records;
        }

        /** Returns the key that the rank has proved. */
        public Handshake.Key key() {
            return key;
        }

        /** Returns the message for the rank, to be sent after {@link #serverHeader}. */
        public byte[] answer() {
            return answer;
        }

        /**
         * Checks the rank's confirmation and encrypts the channel.
         *
         * @throws WireException if the confirmation is wrong
         */
        public void confirm(byte[] confirmation, WireChannel channel) {
            records.confirm(confirmation);
            channel.encrypt(records);
        }
    }

    /** Returns the header of the server's message. */
    public static byte[] serverHeader(int generation) {
        return Handshake.header(Handshake.ENCRYPTED_VERSION, generation);
    }

    /** Returns the answer to a greeting without encryption that says that this side only accepts encryption. */
    public static byte[] requirement(byte[] nonce) {
        return concatenated(serverHeader(Handshake.ANY_GENERATION), nonce);
    }

    /**
     * Reads the first message of a rank.
     *
     * @param keys the keys that the rank may prove
     * @throws WireException if it proves none of them
     */
    public static Accepted accept(byte[] greeting, List<Handshake.Key> keys) {
        if (greeting.length != GREETING_BYTES) {
            throw new WireException("handshake length=" + greeting.length + ": expected " + GREETING_BYTES);
        }
        byte[] header = Arrays.copyOf(greeting, Handshake.HEADER_BYTES);
        byte[] message = Arrays.copyOfRange(greeting, Handshake.HEADER_BYTES, greeting.length);
        for (Handshake.Key key : keys) {
            NoiseHandshake noise = noise(false, key.secret(), key.purpose(), header);
            if (proves(message, noise)) {
                byte[] answer = noise.write(NOTHING);
                return new Accepted(key, answer, new Records(noise.split()));
            }
        }
        throw new WireException("its proof of the secret is wrong");
    }

    private static boolean proves(byte[] message, NoiseHandshake noise) {
        try {
            noise.read(message);
            return true;
        } catch (WireException e) {
            return false;
        }
    }

    private static NoiseHandshake noise(
            boolean initiator, byte[] secret, Handshake.Purpose purpose, byte[] rankHeader) {
        byte[] label = ("JCCL|" + purpose + "|").getBytes(StandardCharsets.US_ASCII);
        byte[] preShared = HmacSha256.of(secret, "noise psk".getBytes(StandardCharsets.US_ASCII));
        return new NoiseHandshake(initiator, preShared, concatenated(label, rankHeader));
    }

    private static byte[] concatenated(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }
}
