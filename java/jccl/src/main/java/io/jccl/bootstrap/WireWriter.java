package io.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;

/** Appends values to a growing array, big endian; the other side of {@link WireReader}. For one thread. */
final class WireWriter {

    private ByteBuffer buffer = ByteBuffer.allocate(128);

    private ByteBuffer room(int bytes) {
        if (buffer.remaining() < bytes) {
            int wanted = Math.max(buffer.capacity() * 2, Math.addExact(buffer.position(), bytes));
            buffer = ByteBuffer.wrap(Arrays.copyOf(buffer.array(), wanted)).position(buffer.position());
        }
        return buffer;
    }

    WireWriter u8(int value) {
        room(1).put((byte) value);
        return this;
    }

    WireWriter i32(int value) {
        room(4).putInt(value);
        return this;
    }

    WireWriter i64(long value) {
        room(8).putLong(value);
        return this;
    }

    /** Bytes with their length before them. */
    WireWriter blob(byte[] value) {
        i32(value.length);
        return raw(value);
    }

    /** Bytes whose length the reader knows. */
    WireWriter raw(byte[] value) {
        room(value.length).put(value);
        return this;
    }

    /** Text, cut where it is longer than a reader takes. */
    WireWriter text(String value, int maxChars) {
        return blob(
                (value.length() > maxChars ? value.substring(0, maxChars) : value).getBytes(StandardCharsets.UTF_8));
    }

    WireWriter ranks(Collection<Integer> ranks) {
        i32(ranks.size());
        ranks.forEach(this::i32);
        return this;
    }

    byte[] toBytes() {
        return Arrays.copyOf(buffer.array(), buffer.position());
    }
}
