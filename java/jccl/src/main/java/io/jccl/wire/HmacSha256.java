package io.jccl.wire;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * HMAC (RFC 2104) with the JDK's SHA-256. The JDK's own HMAC is part of {@code javax.crypto}, whose first use costs a
 * new JVM 30 ms of CPU time.
 */
final class HmacSha256 {

    private static final int BLOCK_BYTES = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;

    private HmacSha256() {}

    static byte[] of(byte[] key, byte[]... parts) {
        MessageDigest digest = sha256();
        byte[] block = Arrays.copyOf(key.length > BLOCK_BYTES ? digest.digest(key) : key, BLOCK_BYTES);
        digest.update(masked(block, INNER));
        for (byte[] part : parts) {
            digest.update(part);
        }
        byte[] inner = digest.digest();
        digest.update(masked(block, OUTER));
        return digest.digest(inner);
    }

    private static byte[] masked(byte[] block, byte mask) {
        byte[] masked = new byte[BLOCK_BYTES];
        for (int i = 0; i < BLOCK_BYTES; i++) {
            masked[i] = (byte) (block[i] ^ mask);
        }
        return masked;
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is missing from this JDK, which every JDK must have", e);
        }
    }
}
