package io.jccl.integration;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory of one rank for test buffers, reused by one case after another. Every region is between two guard zones, which
 * operations must not change.
 */
public final class Arena implements AutoCloseable {

    private static final int GUARD_BYTES = 160;
    private static final byte GUARD = (byte) 0xa5;

    private final int capacity;
    private final ByteBuffer direct;
    private final ByteBuffer heap;
    private final HostBuffer shared;
    private final ByteBuffer sharedView;

    public Arena(int capacity) {
        this.capacity = capacity;
        this.direct = ByteBuffer.allocateDirect(capacity).order(ByteOrder.nativeOrder());
        this.heap = ByteBuffer.allocate(capacity).order(ByteOrder.nativeOrder());
        this.shared = HostBuffer.allocate(capacity);
        this.sharedView = shared.asByteBuffer(0, capacity);
    }

    /** A test buffer: {@code bytes} bytes at {@code offset} of {@code all}, which also contains the guard zones. */
    public record Region(ByteBuffer all, int offset, int bytes, DataBuffer buffer) {

        /** Returns the bytes of the region without its guard zones. */
        ByteBuffer view() {
            return all.slice(offset, bytes).order(ByteOrder.nativeOrder());
        }

        /** Returns true if the guard zones before and after the region are unchanged. */
        boolean guardsHold() {
            for (int i = 1; i <= GUARD_BYTES; i++) {
                if (all.get(offset - i) != GUARD || all.get(offset + bytes + i - 1) != GUARD) {
                    return false;
                }
            }
            return true;
        }
    }

    /**
     * Returns a region with fresh guard zones.
     *
     * @param half the half of the arena, 0 or 1; regions of different halves do not overlap
     * @param misalign bytes by which the region misses the alignment of its elements
     */
    Region region(DataBuffer.Memory memory, int half, int misalign, DataType type, int count) {
        int bytes = count * type.bytes();
        int offset = half * (capacity / 2) + 256 + misalign;
        if (offset + bytes + GUARD_BYTES > (half + 1) * (capacity / 2)) {
            throw new IllegalArgumentException("bytes=" + bytes + " capacity=" + capacity + ": the arena is too small");
        }
        ByteBuffer all =
                switch (memory) {
                    case DIRECT -> direct;
                    case HEAP -> heap;
                    case SHARED -> sharedView;
                    case DEVICE -> throw new IllegalArgumentException("no device here");
                };
        for (int i = 1; i <= GUARD_BYTES; i++) {
            all.put(offset - i, GUARD);
            all.put(offset + bytes + i - 1, GUARD);
        }
        DataBuffer buffer = memory == DataBuffer.Memory.SHARED
                ? shared.slice(offset, count, type)
                : DataBuffer.of(
                        all.duplicate()
                                .order(ByteOrder.nativeOrder())
                                .limit(offset + bytes)
                                .position(offset),
                        type);
        return new Region(all, offset, bytes, buffer);
    }

    @Override
    public void close() {
        shared.close();
    }
}
