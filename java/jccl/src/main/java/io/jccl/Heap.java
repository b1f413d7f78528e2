package io.jccl;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Region copies between heap buffers of each element class and native memory. */
final class Heap {

    private Heap() {}

    /**
     * Copies as many elements as {@code direct} has room for.
     *
     * @param heap a heap buffer whose position is its first element
     * @param offset the first element to copy, counted from there
     * @param out true from heap to {@code direct}, false the other way
     */
    static void copy(Buffer heap, int offset, DataType type, ByteBuffer direct, boolean out) {
        ByteBuffer there = direct.duplicate().order(direct.order());
        int count = there.remaining() / type.bytes();
        int unit = heap instanceof ByteBuffer ? type.bytes() : 1;
        int begin = heap.position() + offset * unit;
        Buffer here = heap.duplicate().limit(begin + count * unit).position(begin);
        if (here instanceof FloatBuffer b) {
            FloatBuffer d = there.asFloatBuffer();
            move(out, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof DoubleBuffer b) {
            DoubleBuffer d = there.asDoubleBuffer();
            move(out, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof IntBuffer b) {
            IntBuffer d = there.asIntBuffer();
            move(out, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof LongBuffer b) {
            LongBuffer d = there.asLongBuffer();
            move(out, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof ShortBuffer b) {
            ShortBuffer d = there.asShortBuffer();
            move(out, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof ByteBuffer b) {
            move(out, () -> there.put(b), () -> b.put(there));
        } else {
            throw new IllegalArgumentException("class=" + heap.getClass().getName() + ": not a buffer of numbers");
        }
    }

    private static void move(boolean out, Runnable toDirect, Runnable toHeap) {
        (out ? toDirect : toHeap).run();
    }

    /** Whether two heap buffers begin at the same element of the same array. */
    static boolean sameElements(Object first, Object second) {
        Buffer a = (Buffer) first;
        Buffer b = (Buffer) second;
        return a == b
                || (a.hasArray()
                        && b.hasArray()
                        && a.array() == b.array()
                        && a.arrayOffset() + a.position() == b.arrayOffset() + b.position());
    }

    /** Whether two heap buffers share elements of one array, as far as their arrays can be seen. */
    static boolean overlap(Object first, long firstBytes, Object second, long secondBytes) {
        Buffer a = (Buffer) first;
        Buffer b = (Buffer) second;
        if (!a.hasArray() || !b.hasArray() || a.array() != b.array()) {
            return false;
        }
        long elementBytes = a.remaining() == 0 ? 1 : firstBytes / a.remaining();
        long aBegin = (a.arrayOffset() + (long) a.position()) * elementBytes;
        long bBegin = (b.arrayOffset() + (long) b.position()) * elementBytes;
        return aBegin < bBegin + secondBytes && bBegin < aBegin + firstBytes;
    }
}
