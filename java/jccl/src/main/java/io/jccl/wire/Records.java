package io.jccl.wire;

import java.io.EOFException;
import java.nio.ByteBuffer;

/**
 * The encrypted bytes of a connection after its handshake: records, each a length (2 bytes, big endian) and a transport
 * message of Noise of this length. Both ends replace the key of a direction after every {@value #REKEY_RECORDS} records.
 * Reads nothing itself: the caller fills {@link #space}. One thread may send while another receives.
 */
final class Records {

    /** The longest plain text of a record: the longest transport message of Noise without its tag. */
    static final int MAX_PLAIN_BYTES = 65_535 - NoiseCipher.TAG_BYTES;

    /** The number of bytes of the record by which a client confirms the handshake. */
    static final int CONFIRMATION_BYTES = 2 + NoiseCipher.TAG_BYTES;

    /**
     * The number of records with one key. At most 2^32 blocks of AES with one key keep the advantage of an attacker who
     * tells encrypted from random bytes below 2^-64 (birthday bound of a block of 128 bits).
     */
    static final long REKEY_RECORDS = 1L << 20;

    private static final int LENGTH_BYTES = 2;
    private static final byte[] NO_DATA = new byte[0];

    private final NoiseCipher sending;
    private final NoiseCipher receiving;
    private final long rekeyRecords;
    private long sent; // number of records with the present key
    private long received;

    private final ByteBuffer length = ByteBuffer.allocate(LENGTH_BYTES);
    private ByteBuffer sealed; // the record that is arriving; null while its length arrives
    private ByteBuffer plain = ByteBuffer.wrap(NO_DATA); // the bytes of the last record that are not taken yet

    Records(NoiseHandshake.Transport transport) {
        this(transport, REKEY_RECORDS);
    }

    Records(NoiseHandshake.Transport transport, long rekeyRecords) {
        this.sending = transport.sending();
        this.receiving = transport.receiving();
        this.rekeyRecords = rekeyRecords;
    }

    /** Returns the next record, with as many of the bytes as it holds. Moves the position only if that succeeds. */
    ByteBuffer seal(ByteBuffer from) {
        int bytes = Math.min(from.remaining(), MAX_PLAIN_BYTES);
        ByteBuffer record = ByteBuffer.allocate(LENGTH_BYTES + bytes + NoiseCipher.TAG_BYTES);
        record.putShort((short) (bytes + NoiseCipher.TAG_BYTES));
        if (sent == rekeyRecords) {
            sending.rekey();
            sent = 0;
        }
        sending.seal(NO_DATA, from.slice().limit(bytes), record);
        sent++;
        from.position(from.position() + bytes);
        return record.flip();
    }

    /** Returns the empty record that confirms the handshake. */
    byte[] confirmation() {
        return seal(ByteBuffer.wrap(NO_DATA)).array();
    }

    /**
     * Checks the record that confirms the handshake.
     *
     * @throws WireException if the other end has not encrypted it
     */
    void confirm(byte[] record) {
        if (open(ByteBuffer.wrap(record, LENGTH_BYTES, record.length - LENGTH_BYTES)).length != 0) {
            throw new WireException("the record that confirms the handshake is not empty");
        }
    }

    /** Returns the buffer for the next bytes of the connection. Call {@link #filled} when nothing of it remains. */
    ByteBuffer space() {
        return sealed == null ? length : sealed;
    }

    /**
     * Handles the bytes in {@link #space}. May be called again after an error of the JVM.
     *
     * @throws WireException if a record is damaged, or not the next one
     */
    void filled() {
        if (sealed == null) {
            int bytes = length.getShort(0) & 0xffff;
            if (bytes <= NoiseCipher.TAG_BYTES) {
                throw new WireException(
                        "encrypted record length=" + bytes + ": expected " + (NoiseCipher.TAG_BYTES + 1) + " to 65535");
            }
            sealed = ByteBuffer.allocate(bytes);
            return;
        }
        plain = ByteBuffer.wrap(open(sealed.duplicate().flip()));
        sealed = null;
        length.clear();
    }

    private byte[] open(ByteBuffer record) {
        if (received == rekeyRecords) {
            receiving.rekey();
            received = 0;
        }
        byte[] opened = receiving.open(NO_DATA, record);
        received++;
        return opened;
    }

    /** Returns the decrypted bytes that nobody has taken yet. */
    ByteBuffer plain() {
        return plain;
    }

    /** Returns true if a record is whole and must be handled by {@link #filled}. */
    boolean isFull() {
        return !space().hasRemaining();
    }

    /** Moves decrypted bytes. Returns their number. */
    int take(ByteBuffer to) {
        int bytes = Math.min(plain.remaining(), to.remaining());
        to.put(plain.slice().limit(bytes));
        plain.position(plain.position() + bytes);
        return bytes;
    }

    /**
     * Checks that the connection has not ended within a record.
     *
     * @throws EOFException if it has
     */
    void requireWhole() throws EOFException {
        if (sealed != null || length.position() > 0) {
            throw new EOFException("the connection ended within an encrypted record");
        }
    }
}
