package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.internal.HeapAccess;
import io.jccl.internal.MemoryHold;
import io.jccl.nativelib.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * The native memory of one message: the buffer itself, pinned, or a copy. Arrays have no lasting address, and the owner
 * of a memory segment could free it while the message moves, so both are copied.
 *
 * <p>One thread at a time uses an object.
 */
final class MessageMemory {

    /** Memory for copies. Any thread may use it. */
    static final class Areas implements AutoCloseable {

        private static final int MAX_SMALL = 16;
        private static final int SMALL_BYTES = 64 * 1024;
        private static final int MAX_LARGE = 4;
        private static final long MAX_LARGE_BYTES = 4 << 20;

        private final ConcurrentLinkedQueue<Small> small = new ConcurrentLinkedQueue<>();
        private final AtomicInteger smallMade =
                new AtomicInteger(); // number of kept areas ever made, at most MAX_SMALL
        private final ConcurrentLinkedQueue<HeapStaging> large = new ConcurrentLinkedQueue<>();
        private final AtomicInteger largeKept = new AtomicInteger();
        private volatile boolean isClosed;

        /** Returns an area of at least {@code bytes}, at most {@link #SMALL_BYTES}. */
        private Small takeSmall(long bytes) {
            Small area = small.poll();
            if (area != null) {
                return area;
            }
            // Messages that wait for a receive can be many, so only some areas have the full size.
            boolean isKept = smallMade.get() < MAX_SMALL && smallMade.incrementAndGet() <= MAX_SMALL;
            ByteBuffer memory = ByteBuffer.allocateDirect(isKept ? SMALL_BYTES : (int) Math.max(bytes, 1))
                    .order(ByteOrder.nativeOrder());
            return new Small(memory, NativeMemory.directAddress(memory), isKept);
        }

        private void giveBack(Small area) {
            if (area.isKept()) {
                small.add(area);
            }
        }

        private HeapStaging takeLarge() {
            HeapStaging area = large.poll();
            if (area == null) {
                return new HeapStaging();
            }
            largeKept.decrementAndGet();
            return area;
        }

        private void giveBack(HeapStaging area) {
            if (area.bytes() <= MAX_LARGE_BYTES && largeKept.get() < MAX_LARGE) {
                largeKept.incrementAndGet();
                large.add(area);
            } else {
                area.close();
            }
            if (isClosed) {
                close(); // areas of calls that have ended after close()
            }
        }

        @Override
        public void close() {
            isClosed = true;
            for (HeapStaging area = large.poll(); area != null; area = large.poll()) {
                area.close();
            }
        }
    }

    /** Direct memory for the copy of a short message. */
    private record Small(ByteBuffer memory, long address, boolean isKept) {}

    private final DataBuffer buffer;
    private final Areas areas;
    private final Small small; // the copy of a short message, or null
    private final HeapStaging large; // the copy of a long message, or null
    private final long address;

    private MessageMemory(DataBuffer buffer, Areas areas, Small small, HeapStaging large, long address) {
        this.buffer = buffer;
        this.areas = areas;
        this.small = small;
        this.large = large;
        this.address = address;
    }

    static boolean isCopied(DataBuffer buffer) {
        return HeapStaging.isHeap(buffer) || MemoryHold.isNeeded(buffer);
    }

    /** Returns the memory of a message to send. {@link #release} gives it back. */
    static MessageMemory ofSource(DataBuffer buffer, Areas areas) {
        return of(buffer, areas, true);
    }

    /** Returns memory for a message to receive. {@link #receive} and {@link #release} give it back. */
    static MessageMemory ofTarget(DataBuffer buffer, Areas areas) {
        return of(buffer, areas, false);
    }

    private static MessageMemory of(DataBuffer buffer, Areas areas, boolean reads) {
        buffer.pin();
        try {
            if (!isCopied(buffer)) {
                return new MessageMemory(buffer, areas, null, null, buffer.pinnedAddress());
            }
            if (buffer.bytes() <= Areas.SMALL_BYTES) {
                Small area = areas.takeSmall(buffer.bytes());
                MessageMemory made = new MessageMemory(buffer, areas, area, null, area.address());
                if (reads) {
                    made.copySmall(buffer, true);
                }
                return made;
            }
            HeapStaging area = areas.takeLarge();
            long address = reads
                    ? held(buffer, () -> area.pack(List.of(buffer), buffer.bytes()))
                    : area.reserve(buffer.bytes());
            return new MessageMemory(buffer, areas, null, area, address);
        } catch (Throwable e) {
            buffer.unpin();
            throw e;
        }
    }

    private static long held(DataBuffer buffer, LongSupplier body) {
        return MemoryHold.isNeeded(buffer) ? MemoryHold.run(buffer, body) : body.getAsLong();
    }

    long address() {
        return address;
    }

    DataBuffer buffer() {
        return buffer;
    }

    /** Copies a buffer to or from the small area. */
    private void copySmall(DataBuffer part, boolean in) {
        if (HeapStaging.isHeap(part)) {
            ByteBuffer memory =
                    small.memory().duplicate().order(ByteOrder.nativeOrder()).limit((int) part.bytes());
            HeapStaging.copy(HeapAccess.of(part), 0, part.type(), memory, in);
            return;
        }
        held(part, () -> {
            long there = part.pinnedAddress();
            NativeMemory.copy(in ? there : address, in ? address : there, part.bytes());
            return 0;
        });
    }

    /** Puts a message of this length, which is in the memory, into the buffer; then {@link #release}. */
    void receive(long bytes) {
        try {
            long count = bytes / buffer.type().bytes();
            if (count > 0 && small != null) {
                copySmall(buffer.slice(0, count), false);
            } else if (count > 0 && large != null) {
                DataBuffer part = buffer.slice(0, count);
                held(part, () -> {
                    large.unpack(List.of(part), address);
                    return 0;
                });
            }
        } finally {
            release();
        }
    }

    /** Ends the use of the memory. */
    void release() {
        buffer.unpin();
        if (small != null) {
            areas.giveBack(small);
        } else if (large != null) {
            areas.giveBack(large);
        }
    }
}
