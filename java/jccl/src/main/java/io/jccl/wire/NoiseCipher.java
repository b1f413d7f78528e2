package io.jccl.wire;

import io.jccl.internal.Causes;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The CipherState of the Noise protocol framework (revision 34, section 5.1) with AES-256-GCM of the JDK: a key and the
 * number of the next message. For use by one thread.
 */
final class NoiseCipher {

    /** The length of a key in bytes. */
    static final int KEY_BYTES = 32;

    /** The number of bytes by which a message grows. */
    static final int TAG_BYTES = 16;

    private static final int NONCE_BYTES = 12;

    /** The nonce of {@link #rekey}, which no message may have (section 4.2 of the specification). */
    private static final long REKEY_NONCE = -1;

    private byte[] key;
    private long next; // the nonce of the next message, unsigned
    private Cipher cipher; // null until it is needed, and after an error of the JVM may have interrupted it

    NoiseCipher(byte[] key) {
        this.key = key;
    }

    /** Returns the encrypted message. If that fails, the next call uses the same nonce for its message. */
    byte[] seal(byte[] associated, ByteBuffer message) {
        byte[] sealed = new byte[message.remaining() + TAG_BYTES];
        seal(associated, message, ByteBuffer.wrap(sealed));
        return sealed;
    }

    /** Writes the encrypted message, and moves the positions of both buffers only if that succeeds. */
    void seal(byte[] associated, ByteBuffer message, ByteBuffer sealed) {
        int bytes = message.remaining() + TAG_BYTES;
        try {
            transform(Cipher.ENCRYPT_MODE, nonce(), associated, message.duplicate(), sealed.duplicate());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("AES-256-GCM of this JDK cannot encrypt: " + Causes.describe(e), e);
        }
        next++;
        message.position(message.limit());
        sealed.position(sealed.position() + bytes);
    }

    /**
     * Returns the decrypted message.
     *
     * @throws WireException if the message was changed, or is not the next one that the other end encrypted
     */
    byte[] open(byte[] associated, ByteBuffer sealed) {
        if (sealed.remaining() < TAG_BYTES) {
            throw new WireException(
                    "encrypted message length=" + sealed.remaining() + ": expected at least " + TAG_BYTES);
        }
        byte[] message = new byte[sealed.remaining() - TAG_BYTES];
        try {
            transform(Cipher.DECRYPT_MODE, nonce(), associated, sealed.duplicate(), ByteBuffer.wrap(message));
        } catch (AEADBadTagException e) {
            throw new WireException(
                    "an encrypted message was changed, repeated or reordered on its way, or was encrypted"
                            + " with another secret");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("AES-256-GCM of this JDK cannot decrypt: " + Causes.describe(e), e);
        }
        next++;
        sealed.position(sealed.limit());
        return message;
    }

    /** Replaces the key by the next one (section 4.2). The number of the next message stays. */
    void rekey() {
        byte[] sealed = new byte[KEY_BYTES + TAG_BYTES];
        try {
            transform(
                    Cipher.ENCRYPT_MODE,
                    REKEY_NONCE,
                    new byte[0],
                    ByteBuffer.allocate(KEY_BYTES),
                    ByteBuffer.wrap(sealed));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("AES-256-GCM of this JDK cannot encrypt: " + Causes.describe(e), e);
        }
        byte[] previous = key;
        key = Arrays.copyOf(sealed, KEY_BYTES);
        Arrays.fill(previous, (byte) 0);
    }

    private long nonce() {
        if (next == REKEY_NONCE) {
            throw new WireException("a key has encrypted all messages that it may");
        }
        return next;
    }

    private void transform(int mode, long nonce, byte[] associated, ByteBuffer from, ByteBuffer to)
            throws GeneralSecurityException {
        Cipher used = cipher == null ? Cipher.getInstance("AES/GCM/NoPadding") : cipher;
        cipher = null; // stays null if an error interrupts the following calls
        byte[] iv = ByteBuffer.allocate(NONCE_BYTES).putInt(0).putLong(nonce).array();
        used.init(mode, new SecretKeySpec(key, "AES"), new GCMParameterSpec(TAG_BYTES * Byte.SIZE, iv));
        used.updateAAD(associated);
        used.doFinal(from, to);
        cipher = used;
    }
}
