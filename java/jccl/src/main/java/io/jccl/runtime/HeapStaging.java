package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.internal.HeapAccess;
import io.jccl.nativelib.NativeMemory;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.List;

/**
 * The area of native memory in which the heap arrays of one communicator are staged. The area is kept between
 * operations and grows with the largest one. Only the thread that executes operations uses it.
 *
 * <p>An array is staged whole. Chunks would be operations of their own, which other ranks with direct buffers could not
 * know of. The area is shared memory, so that peers can read it in place.
 */
final class HeapStaging implements AutoCloseable {

    private static final long ALIGNMENT = 4096;
    private static final int WINDOW_BYTES = 1 << 30;

    private HostBuffer area;
    private volatile long areaBytes; // any thread reads this
    private ByteBuffer firstWindow;
    private long used;

    /** Returns true if one of the buffers, which may be null, must be staged. */
    static boolean isNeeded(DataBuffer first, DataBuffer second) {
        return isHeap(first) || isHeap(second);
    }

    static boolean isHeap(DataBuffer buffer) {
        return buffer != null && buffer.memory() == DataBuffer.Memory.HEAP;
    }

    /**
     * Gives heap buffers places in the area, and copies the send buffer there.
     *
     * @return the addresses to send from and to receive at; 0 for a buffer that is null
     */
    long[] stage(DataBuffer send, DataBuffer recv) {
        boolean inPlace = send != null && Aliasing.isSame(send, recv);
        begin(stagedBytes(send) + (inPlace ? 0 : stagedBytes(recv)));
        long from = place(send);
        if (isHeap(send)) {
            copyIn(send, from);
        }
        return new long[] {from, inPlace ? from : place(recv)};
    }

    /**
     * Like {@link #stage}, for receive buffers that the operation fills only in part. Copies the receive buffer, too,
     * because its other elements must not change.
     */
    long[] stageKeepingGaps(DataBuffer send, DataBuffer recv) {
        long[] places = stage(send, recv);
        if (isHeap(recv) && places[1] != places[0]) {
            copyIn(recv, places[1]);
        }
        return places;
    }

    /** Copies received elements to a heap buffer; does nothing for other buffers. */
    void unstage(DataBuffer recv, long address) {
        if (isHeap(recv)) {
            copyOut(recv, address);
        }
    }

    /**
     * Copies buffers, which may be in any kind of host memory, to the area one after the other.
     *
     * @return the address of the first copy
     */
    long pack(List<DataBuffer> buffers, long bytes) {
        begin(bytes);
        long at = area.address();
        for (DataBuffer buffer : buffers) {
            if (isHeap(buffer)) {
                copyIn(buffer, at);
            } else {
                NativeMemory.copy(buffer.pinnedAddress(), at, buffer.bytes());
            }
            at += buffer.bytes();
        }
        return area.address();
    }

    /** Returns the address of at least {@code bytes} bytes of the area. */
    long reserve(long bytes) {
        begin(bytes);
        return area.address();
    }

    /** Copies the elements that {@link #pack} has put into the area back to their buffers. */
    void unpack(List<DataBuffer> buffers, long address) {
        long at = address;
        for (DataBuffer buffer : buffers) {
            if (isHeap(buffer)) {
                copyOut(buffer, at);
            } else {
                NativeMemory.copy(at, buffer.pinnedAddress(), buffer.bytes());
            }
            at += buffer.bytes();
        }
    }

    /** Returns the bytes of the area that a buffer takes; 0 unless it is on the heap. */
    static long stagedBytes(DataBuffer buffer) {
        return isHeap(buffer) ? (buffer.bytes() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT : 0;
    }

    /** Makes the area at least {@code bytes} large, and all of it free. */
    void begin(long bytes) {
        used = 0;
        if (area == null || area.bytes() < bytes) {
            close();
            area = HostBuffer.allocate(Math.max(1 << 16, Math.max(bytes, Math.min(2 * bytes, 1 << 26))));
            areaBytes = area.bytes();
            firstWindow = area.asByteBuffer(0, (int) Math.min(WINDOW_BYTES, area.bytes()));
        }
    }

    /** Returns the address of a buffer: its own if it is not on the heap, else the next place of the area. */
    long place(DataBuffer buffer) {
        if (!isHeap(buffer)) {
            return buffer == null ? 0 : buffer.pinnedAddress();
        }
        long address = area.address() + used;
        used += stagedBytes(buffer);
        return address;
    }

    void copyIn(DataBuffer heap, long address) {
        copy(heap, address, true);
    }

    void copyOut(DataBuffer heap, long address) {
        copy(heap, address, false);
    }

    private void copy(DataBuffer heap, long address, boolean in) {
        int elementBytes = heap.type().bytes();
        long begin = address - area.address();
        long bytes = heap.bytes();
        for (long done = 0; done < bytes; done += WINDOW_BYTES) {
            int length = (int) Math.min(WINDOW_BYTES, bytes - done);
            ByteBuffer window = window(begin + done, length);
            copy(HeapAccess.of(heap), Math.toIntExact(done / elementBytes), heap.type(), window, in);
        }
    }

    /**
     * Copies as many elements as fit in {@code direct}.
     *
     * @param heap a heap buffer whose position is its first element
     * @param offset first element to copy, counted from that position
     * @param direct a buffer in native order, whose remaining bytes limit the elements; its position does not change
     * @param in true to copy from {@code heap} to {@code direct}, false for the opposite direction
     */
    static void copy(Buffer heap, int offset, DataType type, ByteBuffer direct, boolean in) {
        ByteBuffer there = direct.duplicate().order(direct.order());
        int count = there.remaining() / type.bytes();
        int unit = heap instanceof ByteBuffer ? type.bytes() : 1;
        int begin = heap.position() + offset * unit;
        Buffer here = heap.duplicate().limit(begin + count * unit).position(begin);
        if (here instanceof FloatBuffer b) {
            FloatBuffer d = there.asFloatBuffer();
            move(in, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof DoubleBuffer b) {
            DoubleBuffer d = there.asDoubleBuffer();
            move(in, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof IntBuffer b) {
            IntBuffer d = there.asIntBuffer();
            move(in, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof LongBuffer b) {
            LongBuffer d = there.asLongBuffer();
            move(in, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof ShortBuffer b) {
            ShortBuffer d = there.asShortBuffer();
            move(in, () -> d.put(b), () -> b.put(d));
        } else if (here instanceof ByteBuffer b) {
            move(in, () -> there.put(b), () -> b.put(there));
        } else {
            throw new IllegalArgumentException("class=" + heap.getClass().getName() + ": not a buffer of numbers");
        }
    }

    private static void move(boolean in, Runnable toDirect, Runnable toHeap) {
        (in ? toDirect : toHeap).run();
    }

    private ByteBuffer window(long offset, int length) {
        if (offset + length <= firstWindow.capacity()) {
            return firstWindow.slice((int) offset, length).order(ByteOrder.nativeOrder());
        }
        return area.asByteBuffer(offset, length);
    }

    /** Returns the bytes of the area now. Any thread may call this at any time. */
    long bytes() {
        return areaBytes;
    }

    @Override
    public void close() {
        if (area != null) {
            area.close();
            area = null;
            areaBytes = 0;
            firstWindow = null;
        }
    }
}
