package io.jccl.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Reads values from untrusted bytes: every length and range is checked before anything is allocated. All methods throw
 * {@link WireException} for invalid bytes. For use by one thread.
 */
public final class WireReader {

    /** The maximum number of bytes of one char in UTF-8. A pair of surrogates, which is two chars, takes four. */
    private static final int MAX_CHAR_BYTES = 3;

    private final ByteBuffer in;

    /** Reads the remaining bytes of a buffer, whose position does not change. */
    public WireReader(ByteBuffer in) {
        this(in, false);
    }

    private WireReader(ByteBuffer in, boolean isShared) {
        this.in = isShared ? in : in.slice();
    }

    /** Returns a reader that reads at the position of a buffer and advances that position. */
    static WireReader over(ByteBuffer buffer) {
        return new WireReader(buffer, true);
    }

    /** Reads an array. */
    public WireReader(byte[] in) {
        this(ByteBuffer.wrap(in));
    }

    private void need(int bytes) {
        if (in.remaining() < bytes) {
            throw new WireException(
                    "a message ends early: expected bytes=" + bytes + " more, remaining=" + in.remaining());
        }
    }

    /** Reads a number from 0 to 255. */
    public int u8() {
        need(1);
        return in.get() & 0xff;
    }

    /** Reads a number of 32 bits. */
    public int i32() {
        need(4);
        return in.getInt();
    }

    /** Reads a number of 64 bits. */
    public long i64() {
        need(8);
        return in.getLong();
    }

    /** Reads a floating-point number, which may be NaN or infinite. */
    public double f64() {
        return Double.longBitsToDouble(i64());
    }

    /** Reads a number from {@code min} to {@code max}, both included. */
    public int i32In(String name, int min, int max) {
        int value = i32();
        if (value < min || value > max) {
            throw new WireException(name + "=" + value + ": expected " + min + " to " + max);
        }
        return value;
    }

    /** Reads a number that {@link WireWriter#count} wrote, from {@code min} to {@code max}, both included. */
    public int countIn(String name, int min, int max) {
        long value = 0;
        int next = 0x80;
        for (int shift = 0; (next & 0x80) != 0 && shift <= 28; shift += 7) {
            next = u8();
            value |= (next & 0x7fL) << shift;
        }
        if ((next & 0x80) != 0 || value < min || value > max) {
            throw new WireException(name + "=" + value + ": expected " + min + " to " + max);
        }
        return (int) value;
    }

    /** Reads a constant of an enum. Returns null for 255. */
    public <E extends Enum<E>> E constantOrNull(Class<E> type) {
        int ordinal = u8();
        E[] constants = type.getEnumConstants();
        if (ordinal == 0xff) {
            return null;
        }
        if (ordinal >= constants.length) {
            throw new WireException(type.getSimpleName() + "=" + ordinal + ": expected 0 to " + (constants.length - 1));
        }
        return constants[ordinal];
    }

    /** Reads a constant of an enum. */
    public <E extends Enum<E>> E constant(Class<E> type) {
        E value = constantOrNull(type);
        if (value == null) {
            throw new WireException(type.getSimpleName() + " is missing");
        }
        return value;
    }

    /** Reads a boolean. */
    public boolean flag() {
        int value = u8();
        if (value > 1) {
            throw new WireException("flag=" + value + ": expected 0 or 1");
        }
        return value == 1;
    }

    /** Reads the given number of bytes. */
    public byte[] raw(int bytes) {
        need(bytes);
        byte[] value = new byte[bytes];
        in.get(value);
        return value;
    }

    /** Reads the given number of bytes into an array, beginning at index {@code at}. */
    public void raw(byte[] to, int at, int bytes) {
        need(bytes);
        in.get(to, at, bytes);
    }

    /** Reads bytes that follow their length. */
    public byte[] blob(int maxBytes) {
        return raw(i32In("length", 0, maxBytes));
    }

    /** Reads text that {@link WireWriter#text} wrote. */
    public String text(int maxChars) {
        String text = new String(blob(maxChars * MAX_CHAR_BYTES), StandardCharsets.UTF_8);
        if (text.length() > maxChars) {
            throw new WireException("text.length=" + text.length() + ": expected at most " + maxChars);
        }
        return text;
    }

    /** Reads ranks below {@code size}. */
    public SortedSet<Integer> ranks(int size) {
        int n = i32In("ranks", 0, size);
        need((int) Math.min(Integer.MAX_VALUE, n * 4L));
        SortedSet<Integer> ranks = new TreeSet<>();
        for (int i = 0; i < n; i++) {
            ranks.add(i32In("rank", 0, size - 1));
        }
        return ranks;
    }

    /** Returns a separate reader of the remaining bytes, which stay unread in this one. */
    public WireReader copy() {
        return new WireReader(in);
    }

    /** Returns the remaining bytes, which stay unread. */
    public byte[] rest() {
        byte[] rest = new byte[in.remaining()];
        in.get(in.position(), rest);
        return rest;
    }

    /** Returns the number of remaining bytes. */
    public int remaining() {
        return in.remaining();
    }

    /** Checks that no bytes remain. */
    public void end() {
        if (in.hasRemaining()) {
            throw new WireException("a message is too long: remaining=" + in.remaining() + " bytes nobody expects");
        }
    }
}
