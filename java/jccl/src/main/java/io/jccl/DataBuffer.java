package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.internal.HeapAccess;
import io.jccl.internal.MemoryHold;
import io.jccl.internal.Releases;
import io.jccl.runtime.Implementation;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Describes a run of typed elements in memory of the application, which an operation reads or writes. Never holds a
 * copy of them.
 *
 * <p>For an NIO buffer, describes the elements from its position to its limit at the time of the call; later changes of
 * position and limit have no effect. Direct buffers are used in place. Heap buffers and arrays are staged: copied to
 * native memory and back. Elements must be in native byte order.
 *
 * <p>Creating an object of this class is cheap, but loops over small operations are faster if they reuse one.
 * Immutable; safe for use by any thread.
 */
public final class DataBuffer extends DataBufferOnJdk22 {

    /** The kind of memory in which elements are. */
    public enum Memory {
        /** Native memory of this process. */
        DIRECT,
        /**
         * Memory of a {@link HostBuffer}, also if a view or a segment of it was given: the ranks of this host use it in
         * place.
         */
        SHARED,
        /** A Java array. */
        HEAP,
        /** Memory of a device. */
        DEVICE
    }

    static {
        HeapAccess.install(DataBuffer::heap);
        MemoryHold.install(
                buffer -> buffer.life == null ? null : buffer.life.held(),
                (buffer, operation) -> buffer.life.runHeld(operation));
        Releases.install(
                buffer -> buffer.life instanceof ReleasedMemory, buffer -> ((ReleasedMemory) buffer.life).settle());
    }

    private final Memory memory;
    private final DataType type;
    private final long count;
    private final long address; // 0 for heap memory
    private final boolean readOnly;
    private final @Nullable Object owner; // object that keeps the memory reachable; for heap memory, the NIO buffer
    private final @Nullable MemoryLife life; // null if the memory cannot be freed while the owner is reachable

    private DataBuffer(
            Memory memory,
            DataType type,
            long count,
            long address,
            boolean readOnly,
            @Nullable Object owner,
            @Nullable MemoryLife life) {
        this.memory = memory;
        this.type = type;
        this.count = count;
        this.address = address;
        this.readOnly = readOnly;
        this.owner = owner;
        this.life = life;
    }

    /** Returns the elements of a buffer from position to limit, of type {@link DataType#FLOAT32}. */
    public static DataBuffer of(FloatBuffer buffer) {
        return ofNio(buffer, Float.BYTES, required(buffer).order(), DataType.FLOAT32);
    }

    /** Returns the elements of a buffer from position to limit, of type {@link DataType#FLOAT64}. */
    public static DataBuffer of(DoubleBuffer buffer) {
        return ofNio(buffer, Double.BYTES, required(buffer).order(), DataType.FLOAT64);
    }

    /** Returns the elements of a buffer from position to limit, of type {@link DataType#INT32}. */
    public static DataBuffer of(IntBuffer buffer) {
        return of(buffer, DataType.INT32);
    }

    /**
     * Returns the elements of a buffer from position to limit.
     *
     * @param type {@link DataType#INT32} or {@link DataType#UINT32}
     */
    public static DataBuffer of(IntBuffer buffer, DataType type) {
        requireType(type, DataType.INT32, DataType.UINT32);
        return ofNio(buffer, Integer.BYTES, required(buffer).order(), type);
    }

    /** Returns the elements of a buffer from position to limit, of type {@link DataType#INT64}. */
    public static DataBuffer of(LongBuffer buffer) {
        return of(buffer, DataType.INT64);
    }

    /**
     * Returns the elements of a buffer from position to limit.
     *
     * @param type {@link DataType#INT64} or {@link DataType#UINT64}
     */
    public static DataBuffer of(LongBuffer buffer, DataType type) {
        requireType(type, DataType.INT64, DataType.UINT64);
        return ofNio(buffer, Long.BYTES, required(buffer).order(), type);
    }

    /**
     * Returns the elements of a buffer from position to limit.
     *
     * @param type {@link DataType#INT16}, {@link DataType#UINT16}, {@link DataType#FLOAT16} or {@link
     *     DataType#BFLOAT16}
     */
    public static DataBuffer of(ShortBuffer buffer, DataType type) {
        requireType(type, DataType.INT16, DataType.UINT16, DataType.FLOAT16, DataType.BFLOAT16);
        return ofNio(buffer, Short.BYTES, required(buffer).order(), type);
    }

    /** Returns the elements of a buffer from position to limit, of type {@link DataType#INT8}. */
    public static DataBuffer of(ByteBuffer buffer) {
        return of(buffer, DataType.INT8);
    }

    /**
     * Returns the elements of a buffer from position to limit, of any type.
     *
     * @param buffer a buffer in native byte order, unless elements are single bytes. NIO's default is big endian
     * @param type the type of the elements; the number of bytes from position to limit must be a multiple of its size
     */
    public static DataBuffer of(ByteBuffer buffer, DataType type) {
        required(buffer);
        required(type);
        if (buffer.remaining() % type.bytes() != 0) {
            throw new IllegalArgumentException("remaining=" + buffer.remaining() + " type=" + type.label()
                    + ": expected a multiple of " + type.bytes() + " bytes; set the buffer's limit");
        }
        ByteOrder order = type.bytes() == 1 ? ByteOrder.nativeOrder() : buffer.order();
        return ofNio(buffer, 1, order, type);
    }

    /** Returns all elements of an array, as {@link DataType#FLOAT32}; they are staged. */
    public static DataBuffer of(float[] array) {
        return of(FloatBuffer.wrap(required(array)));
    }

    /** Returns all elements of an array, as {@link DataType#FLOAT64}; they are staged. */
    public static DataBuffer of(double[] array) {
        return of(DoubleBuffer.wrap(required(array)));
    }

    /** Returns all elements of an array, as {@link DataType#INT32}; they are staged. */
    public static DataBuffer of(int[] array) {
        return of(IntBuffer.wrap(required(array)));
    }

    /** Returns all elements of an array, as {@link DataType#INT64}; they are staged. */
    public static DataBuffer of(long[] array) {
        return of(LongBuffer.wrap(required(array)));
    }

    /**
     * Returns all elements of an array; they are staged.
     *
     * @param type {@link DataType#INT16}, {@link DataType#UINT16}, {@link DataType#FLOAT16} or {@link
     *     DataType#BFLOAT16}
     */
    public static DataBuffer of(short[] array, DataType type) {
        return of(ShortBuffer.wrap(required(array)), type);
    }

    /** Returns all elements of an array, as {@link DataType#INT8}; they are staged. */
    public static DataBuffer of(byte[] array) {
        return of(array, DataType.INT8);
    }

    /**
     * Returns all elements of an array; they are staged.
     *
     * @param type {@link DataType#INT8}, {@link DataType#UINT8}, {@link DataType#FLOAT8_E4M3} or {@link
     *     DataType#FLOAT8_E5M2}
     */
    public static DataBuffer of(byte[] array, DataType type) {
        requireType(type, DataType.INT8, DataType.UINT8, DataType.FLOAT8_E4M3, DataType.FLOAT8_E5M2);
        return of(ByteBuffer.wrap(required(array)), type);
    }

    /**
     * Returns native memory of this process by its address, for memory that other libraries manage.
     *
     * @param address the address of the first byte
     * @param count the number of elements
     * @param type the type of the elements
     * @param owner an object that keeps the memory alive, and that this buffer keeps reachable; or null
     */
    public static DataBuffer host(long address, long count, DataType type, @Nullable Object owner) {
        requireAddress(address, count, type);
        return ofAddress(address, count, type, false, owner, null);
    }

    /**
     * Like {@link #host(long, long, DataType, Object)}, for memory that its owner frees, or uses again, as soon as no
     * operation uses it.
     *
     * <p>{@code released} is called once: when an operation over this buffer or a slice of it has ended on this rank and
     * no other such operation is in flight. It does not matter how the operation ends: with success, with an exception,
     * because the communicator fails or is closed, or because the call that would issue it throws. From then on the
     * buffer cannot be used. To use it in several operations, {@link #pin} it before the first, and {@link #unpin} it
     * after the last is issued.
     *
     * <p>{@code released} runs on the thread that ends the operation: one that waits or polls, or a thread of the
     * library. It must return soon, must not wait for an operation and must not close a communicator. An exception that
     * it throws is logged. The library keeps it reachable as long as it keeps the buffer.
     *
     * @param released is called when no operation uses the memory any more
     */
    public static DataBuffer host(long address, long count, DataType type, @Nullable Object owner, Runnable released) {
        requireAddress(address, count, type);
        HostMemory shared = HostMemory.at(address);
        Memory memory = shared == null ? Memory.DIRECT : Memory.SHARED;
        return new DataBuffer(
                memory, type, count, address, false, owner, new ReleasedMemory(required(released), shared));
    }

    /**
     * Returns memory of a device by its address. The application owns the memory and must not free it before every
     * operation that uses it is done.
     *
     * <p>Ranks of one process may use each other's memory in place. A failed operation is therefore done only when the
     * kernels of its peers no longer use this memory. The operation waits for these kernels at most one second. If some
     * are still running then, the failure's message names the ranks whose streams must be synchronized before the
     * memory is freed. No rank waits for replays of graphs: if a replay has failed, synchronize the streams of all
     * ranks.
     *
     * @param address the device address of the first byte; a multiple of the type's size
     * @param count the number of elements
     * @param type the type of the elements
     * @throws IllegalArgumentException if the count is negative, or if it is positive and the address is 0 or not a
     *     multiple of the type's size
     */
    public static DataBuffer device(long address, long count, DataType type) {
        requireDeviceAddress(address, count, type);
        return new DataBuffer(Memory.DEVICE, type, count, address, false, null, null);
    }

    /**
     * Like {@link #device(long, long, DataType)}, for memory that its owner frees, or uses again, as soon as no operation
     * uses it. {@code released} is called as for {@link #host(long, long, DataType, Object, Runnable)}; a thread of the
     * library asks the device for the end of the operation.
     *
     * <p>After a failure whose message names ranks whose streams must be synchronized, {@code released} does not wait for
     * these streams. An operation that a graph captures ends when it is captured: give such operations buffers without
     * {@code released}, because replays use the memory.
     *
     * @param owner an object that this buffer keeps reachable; or null
     * @param released is called when no operation uses the memory any more
     */
    public static DataBuffer device(
            long address, long count, DataType type, @Nullable Object owner, Runnable released) {
        requireDeviceAddress(address, count, type);
        return new DataBuffer(
                Memory.DEVICE, type, count, address, false, owner, new ReleasedMemory(required(released), null));
    }

    private static void requireDeviceAddress(long address, long count, DataType type) {
        requireAddress(address, count, type);
        if (count > 0 && address % type.bytes() != 0) {
            throw new IllegalArgumentException("address=0x" + Long.toHexString(address) + " type=" + type.label()
                    + ": expected a multiple of " + type.bytes() + ", because devices read elements only there");
        }
    }

    static DataBuffer ofSegment(
            long address, long count, DataType type, boolean readOnly, Object owner, MemoryLife life) {
        return ofAddress(address, count, type, readOnly, owner, life);
    }

    /**
     * Returns a buffer of native memory: of kind {@code SHARED} if the address is in a {@link HostBuffer}, else {@code
     * DIRECT}.
     */
    private static DataBuffer ofAddress(
            long address,
            long count,
            DataType type,
            boolean readOnly,
            @Nullable Object owner,
            @Nullable MemoryLife otherLife) {
        HostMemory shared = HostMemory.at(address);
        return shared == null
                ? new DataBuffer(Memory.DIRECT, type, count, address, readOnly, owner, otherLife)
                : new DataBuffer(Memory.SHARED, type, count, address, readOnly, owner, shared);
    }

    static DataBuffer shared(HostBuffer owner, HostMemory memory, long offsetBytes, long count, DataType type) {
        return new DataBuffer(Memory.SHARED, type, count, memory.address() + offsetBytes, false, owner, memory);
    }

    /** Returns the type of the elements. */
    public DataType type() {
        return type;
    }

    /** Returns the number of elements. */
    public long count() {
        return count;
    }

    /** Returns the size in bytes. */
    public long bytes() {
        return count * type.bytes();
    }

    /** Returns the kind of memory in which the elements are. */
    public Memory memory() {
        return memory;
    }

    /** Returns true if the elements may only be read. Such a buffer cannot receive. */
    public boolean isReadOnly() {
        return readOnly;
    }

    /**
     * Returns the address of the first element, or 0 for heap memory, which has no lasting address.
     *
     * @throws IllegalStateException if the {@link HostBuffer} or the arena of the memory is closed
     */
    public long address() {
        if (life != null) {
            life.requireOpen();
        }
        return address;
    }

    /**
     * Keeps the memory of a {@link HostBuffer}, even if the buffer is closed, until each call of this method is undone
     * by one call of {@link #unpin}. If this buffer has a callback, delays that call in the same way. Does nothing for
     * other memory. An operation pins its buffers from the call that
     * issues it until it ends. Applications that give an address to other libraries may do the same.
     *
     * @throws IllegalStateException if the {@link HostBuffer} or the arena of the memory is closed, or if the callback
     *     of this buffer was called
     */
    public void pin() {
        if (life != null) {
            life.pin();
        }
    }

    /**
     * Undoes one {@link #pin}.
     *
     * @throws IllegalStateException if the memory belongs to a {@link HostBuffer} or has a callback, and has no pin
     */
    public void unpin() {
        if (life != null) {
            life.unpin();
        }
    }

    /**
     * Like {@link #address}, for callers that have pinned the memory: also valid if the memory was closed after the
     * pin.
     */
    public long pinnedAddress() {
        return address;
    }

    /**
     * Returns a part of this buffer.
     *
     * @param offset the first element of the part
     * @param length the number of elements of the part
     * @throws IllegalArgumentException if the part is not within this buffer
     */
    public DataBuffer slice(long offset, long length) {
        if (offset < 0 || length < 0 || offset > count - length) {
            throw new IllegalArgumentException(
                    "offset=" + offset + " length=" + length + ": lies outside of this buffer of count=" + count);
        }
        if (memory == Memory.HEAP) {
            int unit = owner instanceof ByteBuffer ? type.bytes() : 1;
            Buffer heap = (Buffer) owner;
            int begin = heap.position() + Math.toIntExact(offset * unit);
            Buffer part = heap.duplicate()
                    .limit(begin + Math.toIntExact(length * unit))
                    .position(begin);
            return new DataBuffer(memory, type, length, 0, readOnly, part, null);
        }
        return new DataBuffer(memory, type, length, address + offset * type.bytes(), readOnly, owner, life);
    }

    /** Returns a text such as {@code DataBuffer[type=float32, count=1024, memory=direct]}. */
    @Override
    public String toString() {
        return "DataBuffer[type=" + type.label() + ", count=" + count + ", memory="
                + memory.name().toLowerCase(java.util.Locale.ROOT)
                + (memory == Memory.DEVICE ? ", address=0x" + Long.toHexString(address) : "")
                + (readOnly ? ", read-only]" : "]");
    }

    private Buffer heap() {
        if (memory != Memory.HEAP) {
            throw new IllegalStateException("memory=" + memory + ": expected heap memory");
        }
        return (Buffer) owner;
    }

    private static DataBuffer ofNio(Buffer buffer, int unitBytes, ByteOrder order, DataType type) {
        if (order != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException("order=" + order + ": expected native byte order; call "
                    + "order(ByteOrder.nativeOrder()) on the ByteBuffer, before a view of it is made");
        }
        long count = (long) buffer.remaining() * unitBytes / type.bytes();
        if (!buffer.isDirect()) {
            return new DataBuffer(Memory.HEAP, type, count, 0, buffer.isReadOnly(), buffer.duplicate(), null);
        }
        long address = Implementation.get().directAddress(buffer) + (long) buffer.position() * unitBytes;
        return ofAddress(address, count, type, buffer.isReadOnly(), buffer, null);
    }

    private static <B extends Buffer> B required(B buffer) {
        return Arguments.required("buffer", buffer, "the elements from position to limit of an NIO buffer");
    }

    private static Runnable required(Runnable released) {
        return Arguments.required("released", released, "what is called when no operation uses the memory any more");
    }

    /**
     * Returns the array.
     *
     * @throws IllegalArgumentException if it is null
     */
    static <A> A required(A array) {
        return Arguments.required("array", array, "an array of the elements");
    }

    /**
     * Returns the type.
     *
     * @throws IllegalArgumentException if it is null
     */
    static DataType required(DataType type) {
        return Arguments.required("type", type, "one of " + Arrays.toString(DataType.values()));
    }

    private static void requireType(DataType type, DataType... accepted) {
        for (DataType one : accepted) {
            if (type == one) {
                return;
            }
        }
        int last = accepted.length - 1;
        String others = Arrays.stream(accepted, 0, last).map(DataType::label).collect(Collectors.joining(", "));
        throw new IllegalArgumentException("type=" + (type == null ? "null" : type.label()) + ": expected " + others
                + " or " + accepted[last].label() + "; any type may be read from a ByteBuffer");
    }

    private static void requireAddress(long address, long count, DataType type) {
        required(type);
        if (count < 0 || count > Long.MAX_VALUE / type.bytes()) {
            throw new IllegalArgumentException("count=" + count + " type=" + type.label() + ": not a size");
        }
        if (address == 0 && count > 0) {
            throw new IllegalArgumentException("address=0 count=" + count + ": expected the address of the memory");
        }
    }
}
