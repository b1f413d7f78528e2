package io.jccl.wire;

import io.jccl.internal.Causes;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.PrivateKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPrivateKeySpec;
import java.security.spec.XECPublicKeySpec;
import java.util.Arrays;
import javax.crypto.KeyAgreement;

/**
 * The handshake {@code NNpsk0} of the Noise protocol framework (revision 34), with X25519, AES-256-GCM and SHA-256:
 *
 * <pre>
 *   initiator > responder   psk, e      its ephemeral public key(32), sealed payload
 *   responder > initiator   e, ee       its ephemeral public key(32), sealed payload
 * </pre>
 *
 * <p>The second message proves to the initiator that the responder knows the pre-shared key. The responder has this
 * proof once it has opened a message of the transport that follows. For use by one thread.
 */
final class NoiseHandshake {

    /** The length of a public key in bytes. */
    static final int PUBLIC_BYTES = 32;

    /** The length of a message with an empty payload in bytes. */
    static final int MESSAGE_BYTES = PUBLIC_BYTES + NoiseCipher.TAG_BYTES;

    private static final String CURVE = "X25519";
    private static final String NAME =
            "Noise_NNpsk0_25519_AESGCM_SHA256"; // has the length of a hash, so it is not hashed
    private static final byte[] NOTHING = new byte[0];

    private static final byte[] BASE_POINT = {
        9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    };

    private final boolean initiator;
    private final byte[] ephemeral;
    private byte[] hash = NAME.getBytes(StandardCharsets.US_ASCII);
    private byte[] chainingKey = hash;
    private NoiseCipher cipher;
    private byte[] theirs; // the public key of the other end; null until its message was read

    /**
     * The ciphers of the transport.
     *
     * @param sending encrypts what this end sends
     * @param receiving decrypts what the other end sends
     */
    record Transport(NoiseCipher sending, NoiseCipher receiving) {}

    /**
     * Begins a handshake.
     *
     * @param preShared {@value NoiseCipher#KEY_BYTES} bytes that both ends know
     * @param prologue bytes that both ends must have in common; they need not be secret
     */
    NoiseHandshake(boolean initiator, byte[] preShared, byte[] prologue) {
        this(initiator, preShared, prologue, Handshake.randomBytes(PUBLIC_BYTES));
    }

    /** Begins a handshake with a given ephemeral private key, for published test vectors. */
    NoiseHandshake(boolean initiator, byte[] preShared, byte[] prologue, byte[] ephemeral) {
        this.initiator = initiator;
        this.ephemeral = ephemeral;
        mixHash(prologue);
        mixKeyAndHash(preShared);
    }

    /**
     * Checks that this JDK has the algorithms.
     *
     * @throws IllegalStateException if one is missing; the message names the remedy
     */
    static void requireAlgorithms() {
        byte[] one = new byte[PUBLIC_BYTES];
        one[0] = 1;
        try {
            agree(one, BASE_POINT);
            new NoiseCipher(one).seal(NOTHING, ByteBuffer.allocate(1));
        } catch (IllegalStateException | WireException e) {
            throw new IllegalStateException(
                    "this Java runtime lacks X25519 or AES/GCM, with which JCCL encrypts: " + Causes.describe(e)
                            + "; use one with the module jdk.crypto.ec, whose security providers offer both",
                    e);
        }
    }

    /** Returns the hash of all messages so far, which is equal at both ends. */
    byte[] hash() {
        return hash.clone();
    }

    /** Returns the message of this end. */
    byte[] write(byte[] payload) {
        byte[] mine = agree(ephemeral, BASE_POINT);
        mixEphemeral(mine);
        if (!initiator) {
            mixKey(agree(ephemeral, theirs));
        }
        byte[] sealed = cipher.seal(hash, ByteBuffer.wrap(payload));
        mixHash(sealed);
        return ByteBuffer.allocate(mine.length + sealed.length)
                .put(mine)
                .put(sealed)
                .array();
    }

    /**
     * Reads the message of the other end and returns its payload.
     *
     * @throws WireException if the other end does not know the pre-shared key, or has another prologue
     */
    byte[] read(byte[] message) {
        if (message.length < MESSAGE_BYTES) {
            throw new WireException(
                    "handshake message length=" + message.length + ": expected at least " + MESSAGE_BYTES);
        }
        theirs = Arrays.copyOf(message, PUBLIC_BYTES);
        mixEphemeral(theirs);
        if (initiator) {
            mixKey(agree(ephemeral, theirs));
        }
        ByteBuffer sealed = ByteBuffer.wrap(message, PUBLIC_BYTES, message.length - PUBLIC_BYTES);
        byte[] payload = cipher.open(hash, sealed.duplicate());
        mixHash(Arrays.copyOfRange(message, PUBLIC_BYTES, message.length));
        return payload;
    }

    /** Returns the ciphers of the transport, after both messages, and forgets the ephemeral private key. */
    Transport split() {
        byte[][] keys = derive(NOTHING, 2);
        Arrays.fill(ephemeral, (byte) 0);
        Arrays.fill(chainingKey, (byte) 0);
        NoiseCipher ofInitiator = new NoiseCipher(keys[0]);
        NoiseCipher ofResponder = new NoiseCipher(keys[1]);
        return initiator ? new Transport(ofInitiator, ofResponder) : new Transport(ofResponder, ofInitiator);
    }

    private void mixEphemeral(byte[] publicKey) {
        mixHash(publicKey);
        mixKey(publicKey);
    }

    private void mixHash(byte[] data) {
        MessageDigest digest = HmacSha256.sha256();
        digest.update(hash);
        hash = digest.digest(data);
    }

    private void mixKey(byte[] material) {
        byte[][] keys = derive(material, 2);
        chainingKey = keys[0];
        cipher = new NoiseCipher(keys[1]);
    }

    private void mixKeyAndHash(byte[] material) {
        byte[][] keys = derive(material, 3);
        chainingKey = keys[0];
        mixHash(keys[1]);
        cipher = new NoiseCipher(keys[2]);
    }

    /** HKDF of section 4.3. */
    private byte[][] derive(byte[] material, int outputs) {
        byte[] temporary = HmacSha256.of(chainingKey, material);
        byte[][] keys = new byte[outputs][];
        byte[] previous = NOTHING;
        for (int i = 0; i < outputs; i++) {
            previous = HmacSha256.of(temporary, previous, new byte[] {(byte) (i + 1)});
            keys[i] = previous;
        }
        return keys;
    }

    /**
     * Returns X25519 of a private and a public key.
     *
     * @throws WireException if the public key has a small order, which no honest end sends
     */
    private static byte[] agree(byte[] privateKey, byte[] publicKey) {
        try {
            KeyFactory factory = KeyFactory.getInstance(CURVE);
            PrivateKey mine = factory.generatePrivate(new XECPrivateKeySpec(NamedParameterSpec.X25519, privateKey));
            KeyAgreement agreement = KeyAgreement.getInstance(CURVE);
            agreement.init(mine);
            byte[] bigEndian = new byte[PUBLIC_BYTES];
            for (int i = 0; i < PUBLIC_BYTES; i++) {
                bigEndian[i] = publicKey[PUBLIC_BYTES - 1 - i];
            }
            bigEndian[0] &= 0x7f; // RFC 7748, section 5
            BigInteger u = new BigInteger(1, bigEndian);
            agreement.doPhase(factory.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, u)), true);
            return agreement.generateSecret();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("X25519 is missing from this JDK", e);
        } catch (GeneralSecurityException | IllegalStateException e) {
            throw new WireException("the other end sent a public key that gives no secret: " + Causes.describe(e));
        }
    }
}
