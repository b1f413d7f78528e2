package io.jccl.cli.perf;

import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.IntToLongFunction;

/**
 * A sequence of elements that repeats after a prime number of elements, so that a chunk in the wrong place is detected.
 * One period and a window are kept as bytes, so that filling and comparing are block operations.
 */
final class ElementPattern {

    /** Number of elements after which the sequence repeats. */
    static final int PERIOD = 8191;

    private static final int WINDOW = 8192;

    private final int elementBytes;
    private final ByteBuffer block;

    /**
     * @param type type of the elements
     * @param bits returns the element at each index below {@link #PERIOD}, in the low bits
     */
    ElementPattern(DataType type, IntToLongFunction bits) {
        elementBytes = type.bytes();
        block = ByteBuffer.allocateDirect((PERIOD + WINDOW) * elementBytes).order(ByteOrder.nativeOrder());
        for (int i = 0; i < PERIOD + WINDOW; i++) {
            put(i, bits.applyAsLong(i % PERIOD));
        }
    }

    private void put(int index, long bits) {
        switch (elementBytes) {
            case 1 -> block.put(index, (byte) bits);
            case 2 -> block.putShort(index * 2, (short) bits);
            case 4 -> block.putInt(index * 4, (int) bits);
            default -> block.putLong(index * 8, bits);
        }
    }

    /** Writes the elements {@code start, start + 1, …} of the sequence to a range of a region. */
    void fill(Region region, long offset, long count, long start) {
        for (long done = 0; done < count; done += WINDOW) {
            int length = (int) Math.min(WINDOW, count - done);
            region.write((offset + done) * elementBytes, expected(start + done, length));
        }
    }

    /** Returns how many elements in a range of a region differ from {@code start, start + 1, …} of the sequence. */
    long countDifferences(Region region, long offset, long count, long start) {
        long wrong = 0;
        for (long done = 0; done < count; done += WINDOW) {
            int length = (int) Math.min(WINDOW, count - done);
            ByteBuffer actual = region.read((offset + done) * elementBytes, length * elementBytes);
            ByteBuffer expected = expected(start + done, length);
            int at = actual.mismatch(expected);
            while (at >= 0) {
                wrong++;
                int next = (at / elementBytes + 1) * elementBytes;
                int more = actual.position(next).mismatch(expected.position(next));
                at = more < 0 ? -1 : next + more;
            }
        }
        return wrong;
    }

    private ByteBuffer expected(long start, int length) {
        return block.slice((int) (start % PERIOD) * elementBytes, length * elementBytes);
    }
}
