package io.jccl.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;

/** Appends values to a growing array, big endian; the other side of {@link WireReader}. For use by one thread. */
public final class WireWriter {

    private ByteBuffer buffer = ByteBuffer.allocate(128);

    private ByteBuffer reserve(int bytes) {
        if (buffer.remaining() < bytes) {
            int capacity = Math.max(buffer.capacity() * 2, Math.addExact(buffer.position(), bytes));
            buffer = ByteBuffer.wrap(Arrays.copyOf(buffer.array(), capacity)).position(buffer.position());
        }
        return buffer;
    }

    /** Writes a number from 0 to 255. */
    public WireWriter u8(int value) {
        reserve(1).put((byte) value);
        return this;
    }

    /** Writes a number of 32 bits. */
    public WireWriter i32(int value) {
        reserve(4).putInt(value);
        return this;
    }

    /** Writes a number of 64 bits. */
    public WireWriter i64(long value) {
        reserve(8).putLong(value);
        return this;
    }

    /** Writes a number that is not negative in as few bytes as it needs: seven bits in each, the lowest first. */
    public WireWriter count(int value) {
        int left = value;
        for (; left > 0x7f; left >>>= 7) {
            u8(left & 0x7f | 0x80);
        }
        return u8(left);
    }

    /** Writes a floating-point number. */
    public WireWriter f64(double value) {
        return i64(Double.doubleToRawLongBits(value));
    }

    /** Writes a boolean. */
    public WireWriter flag(boolean value) {
        return u8(value ? 1 : 0);
    }

    /** Writes the length of bytes, then the bytes. */
    public WireWriter blob(byte[] value) {
        i32(value.length);
        return raw(value);
    }

    /** Writes bytes whose number the reader knows. */
    public WireWriter raw(byte[] value) {
        reserve(value.length).put(value);
        return this;
    }

    /** Writes text, cut to the length that the reader accepts. */
    public WireWriter text(String value, int maxChars) {
        return blob(
                (value.length() > maxChars ? value.substring(0, maxChars) : value).getBytes(StandardCharsets.UTF_8));
    }

    /** Writes the number of ranks, then the ranks. */
    public WireWriter ranks(Collection<Integer> ranks) {
        i32(ranks.size());
        ranks.forEach(this::i32);
        return this;
    }

    /** Returns all bytes that were written. */
    public byte[] toBytes() {
        return Arrays.copyOf(buffer.array(), buffer.position());
    }
}
