package io.jccl.integration;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceStream;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.NativeDevice;
import io.jccl.nativelib.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Device memory for tests, with a stream for its copies. It comes from an arena, to which closed memory returns. Arenas
 * are allocated before any rank's kernel spins: allocating or freeing device memory may wait for such a kernel, while
 * the kernel waits for the thread that allocates or frees.
 */
final class DeviceMemory implements AutoCloseable {

    private static final int ARENA_BYTES = 64 << 20;
    private static final int ALIGNMENT = 512;

    /** One arena for each device. An arena keeps closed memory for reuse, by size. */
    private static final List<Arena> ARENAS =
            IntStream.range(0, CudaLoader.devices()).mapToObj(Arena::new).toList();

    private static final class Arena {

        private final long base;
        private final Map<Integer, Deque<Long>> free = new HashMap<>();
        private int taken;

        Arena(int device) {
            base = NativeDevice.allocateMemory(device, ARENA_BYTES);
        }

        synchronized long take(int bytes) {
            Deque<Long> same = free.get(bytes);
            if (same != null && !same.isEmpty()) {
                return same.pop();
            }
            if (bytes > ARENA_BYTES - taken) {
                throw new IllegalStateException("bytes=" + bytes + " taken=" + taken + ": raise ARENA_BYTES");
            }
            taken += bytes;
            return base + taken - bytes;
        }

        synchronized void giveBack(long address, int bytes) {
            free.computeIfAbsent(bytes, size -> new ArrayDeque<>()).push(address);
        }
    }

    private final int device;
    private final int size;
    private final boolean isGiven;
    private final long address;
    private final long stream;
    private final ByteBuffer window;

    DeviceMemory(int device, int bytes) {
        this(device, bytes, 0);
    }

    /**
     * @param given address of memory that its owner frees; 0 for memory of the arena
     */
    DeviceMemory(int device, int bytes, long given) {
        this.device = device;
        this.size = (Math.max(1, bytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        this.isGiven = given != 0;
        this.address = isGiven ? given : ARENAS.get(device).take(size);
        this.stream = NativeDevice.newStream(device);
        this.window = ByteBuffer.allocateDirect(Math.max(1, bytes)).order(ByteOrder.nativeOrder());
    }

    DeviceStream stream() {
        return new DeviceStream(stream);
    }

    /** Returns elements whose callback is called when no operation uses them. */
    DataBuffer released(long count, Runnable callback) {
        return DataBuffer.device(address, count, DataType.INT64, this, callback);
    }

    DataBuffer elements(long count, DataType type) {
        return DataBuffer.device(address, count, type);
    }

    /** Enqueues a copy of the bytes on the stream. */
    void put(byte[] bytes) {
        window.put(0, bytes);
        NativeDevice.copyMemory(device, address, NativeMemory.directAddress(window), bytes.length, stream);
    }

    /**
     * Returns bytes after all work on the stream. Waits for the stream before it enqueues the copy: a copy to pageable
     * memory that has to wait for its stream blocks the copies of other threads. The stream may be waiting for ranks on
     * exactly those threads.
     */
    byte[] get(int length) {
        NativeDevice.awaitStream(device, stream);
        NativeDevice.copyMemory(device, NativeMemory.directAddress(window), address, length, stream);
        NativeDevice.awaitStream(device, stream);
        byte[] bytes = new byte[length];
        window.get(0, bytes);
        return bytes;
    }

    void putLongs(LongStream values) {
        ByteBuffer bytes = ByteBuffer.allocate(window.capacity()).order(ByteOrder.nativeOrder());
        bytes.asLongBuffer().put(values.toArray());
        put(bytes.array());
    }

    /** Returns the first {@code count} numbers after all work on the stream. */
    long[] longs(int count) {
        long[] values = new long[count];
        ByteBuffer.wrap(get(Long.BYTES * count))
                .order(ByteOrder.nativeOrder())
                .asLongBuffer()
                .get(values);
        return values;
    }

    /** Captures the work that {@code body} enqueues on the stream. */
    Graph capture(Runnable body) {
        return new Graph(NativeDevice.capture(device, stream, body));
    }

    /** Captured work that can be enqueued on the stream repeatedly. */
    final class Graph implements AutoCloseable {

        private final long handle;

        private Graph(long handle) {
            this.handle = handle;
        }

        void replay() {
            NativeDevice.replayGraph(device, handle, stream);
        }

        @Override
        public void close() {
            NativeDevice.awaitStream(device, stream);
            NativeDevice.freeGraph(device, handle);
        }
    }

    @Override
    public void close() {
        NativeDevice.awaitStream(device, stream);
        NativeDevice.closeStream(device, stream);
        if (!isGiven) {
            ARENAS.get(device).giveBack(address, size);
        }
    }
}
