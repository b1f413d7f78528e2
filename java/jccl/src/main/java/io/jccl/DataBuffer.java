package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.internal.HeapAccess;
import io.jccl.internal.MemoryHold;
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
 * A typed run of elements that an operation reads or writes: memory of the application's own, never a copy of it.
 *
 * <p>NIO buffers are taken from position to limit as they are at the call; later changes of position and limit have no
 * effect. Direct buffers are used in place. Heap buffers and arrays are staged through native memory by region copies,
 * which costs a copy in and a copy out. Elements must be in native byte order.
 *
 * <p>Creating one is cheap, but loops over small operations gain by keeping it. Immutable; safe for use by any thread.
 */
public final class DataBuffer extends DataBufferOnJdk22 {

    /** Where the elements live. */
    public enum Memory {
        /** Native memory of this process. */
        DIRECT,
        /** Of a {@link HostBuffer}, a view or a segment of it: the ranks of this host use it in place. */
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
    }

    private final Memory memory;
    private final DataType type;
    private final long count;
    private final long address; // 0 for heap memory
    private final boolean readOnly;
    private final @Nullable Object owner; // keeps the memory alive; the heap buffer itself for heap memory
    private final @Nullable MemoryLife life; // null where nobody can end it

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

    /** Elements of type {@link DataType#FLOAT32} from position to limit. */
    public static DataBuffer of(FloatBuffer buffer) {
        return ofNio(buffer, Float.BYTES, required(buffer).order(), DataType.FLOAT32);
    }

    /** Elements of type {@link DataType#FLOAT64} from position to limit. */
    public static DataBuffer of(DoubleBuffer buffer) {
        return ofNio(buffer, Double.BYTES, required(buffer).order(), DataType.FLOAT64);
    }

    /** Elements of type {@link DataType#INT32} from position to limit. */
    public static DataBuffer of(IntBuffer buffer) {
        return of(buffer, DataType.INT32);
    }

    /**
     * Elements from position to limit.
     *
     * @param type {@link DataType#INT32} or {@link DataType#UINT32}
     */
    public static DataBuffer of(IntBuffer buffer, DataType type) {
        requireType(type, DataType.INT32, DataType.UINT32);
        return ofNio(buffer, Integer.BYTES, required(buffer).order(), type);
    }

    /** Elements of type {@link DataType#INT64} from position to limit. */
    public static DataBuffer of(LongBuffer buffer) {
        return of(buffer, DataType.INT64);
    }

    /**
     * Elements from position to limit.
     *
     * @param type {@link DataType#INT64} or {@link DataType#UINT64}
     */
    public static DataBuffer of(LongBuffer buffer, DataType type) {
        requireType(type, DataType.INT64, DataType.UINT64);
        return ofNio(buffer, Long.BYTES, required(buffer).order(), type);
    }

    /**
     * Elements from position to limit.
     *
     * @param type {@link DataType#FLOAT16} or {@link DataType#BFLOAT16}
     */
    public static DataBuffer of(ShortBuffer buffer, DataType type) {
        requireType(type, DataType.FLOAT16, DataType.BFLOAT16);
        return ofNio(buffer, Short.BYTES, required(buffer).order(), type);
    }

    /** Elements of type {@link DataType#INT8} from position to limit. */
    public static DataBuffer of(ByteBuffer buffer) {
        return of(buffer, DataType.INT8);
    }

    /**
     * Elements of any type from position to limit.
     *
     * @param buffer its byte order must be native, unless elements are single bytes; mind that NIO's default is
     *     big endian
     * @param type the type of the elements; the bytes from position to limit must be a multiple of its size
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

    /** All elements of an array, staged, as {@link DataType#FLOAT32}. */
    public static DataBuffer of(float[] array) {
        return of(FloatBuffer.wrap(required(array)));
    }

    /** All elements of an array, staged, as {@link DataType#FLOAT64}. */
    public static DataBuffer of(double[] array) {
        return of(DoubleBuffer.wrap(required(array)));
    }

    /** All elements of an array, staged, as {@link DataType#INT32}. */
    public static DataBuffer of(int[] array) {
        return of(IntBuffer.wrap(required(array)));
    }

    /** All elements of an array, staged, as {@link DataType#INT64}. */
    public static DataBuffer of(long[] array) {
        return of(LongBuffer.wrap(required(array)));
    }

    /** All elements of an array, staged, as {@link DataType#FLOAT16} or {@link DataType#BFLOAT16}. */
    public static DataBuffer of(short[] array, DataType type) {
        return of(ShortBuffer.wrap(required(array)), type);
    }

    /** All elements of an array, staged, as {@link DataType#INT8}. */
    public static DataBuffer of(byte[] array) {
        return of(array, DataType.INT8);
    }

    /**
     * All elements of an array, staged.
     *
     * @param type {@link DataType#INT8}, {@link DataType#UINT8}, {@link DataType#FLOAT8_E4M3} or
     *     {@link DataType#FLOAT8_E5M2}
     */
    public static DataBuffer of(byte[] array, DataType type) {
        requireType(type, DataType.INT8, DataType.UINT8, DataType.FLOAT8_E4M3, DataType.FLOAT8_E5M2);
        return of(ByteBuffer.wrap(required(array)), type);
    }

    /**
     * Native memory of this process by its address, for memory that other libraries manage.
     *
     * @param address the first byte
     * @param count how many elements
     * @param type their type
     * @param owner an object that keeps the memory alive and is kept reachable, or null
     */
    public static DataBuffer host(long address, long count, DataType type, @Nullable Object owner) {
        requireAddress(address, count, type);
        return ofAddress(address, count, type, false, owner, null);
    }

    /**
     * Memory of a device by its address. The application keeps the memory until every operation that uses it is done, and
     * frees it. Ranks of one process may use each other's memory in place. So an operation that fails is done when its peers'
     * kernels use this memory no more, or after a second: then the message names the ranks whose streams have to be
     * synchronized before. No rank waits for replays of graphs: after one has failed, synchronize the streams of all ranks.
     *
     * @param address the first byte, a device address; a multiple of the type's size
     * @param count how many elements
     * @param type their type
     * @throws IllegalArgumentException if the count is negative, or the address is 0 or odd to the type while count is not 0
     */
    public static DataBuffer device(long address, long count, DataType type) {
        requireAddress(address, count, type);
        if (count > 0 && address % type.bytes() != 0) {
            throw new IllegalArgumentException("address=0x" + Long.toHexString(address) + " type=" + type.label()
                    + ": expected a multiple of " + type.bytes() + ", which a device can read elements at");
        }
        return new DataBuffer(Memory.DEVICE, type, count, address, false, null, null);
    }

    static DataBuffer ofSegment(
            long address, long count, DataType type, boolean readOnly, Object owner, MemoryLife life) {
        return ofAddress(address, count, type, readOnly, owner, life);
    }

    /** Native memory, which is known by its address if it is that of a {@link HostBuffer}. */
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

    /** The type of the elements. */
    public DataType type() {
        return type;
    }

    /** The number of elements. */
    public long count() {
        return count;
    }

    /** The size in bytes. */
    public long bytes() {
        return count * type.bytes();
    }

    /** Where the elements live. */
    public Memory memory() {
        return memory;
    }

    /** Whether the elements may only be read; such a buffer cannot receive. */
    public boolean isReadOnly() {
        return readOnly;
    }

    /**
     * The address of the first element, or 0 for heap memory, which has no lasting address.
     *
     * @throws IllegalStateException if the memory is that of a {@link HostBuffer} or an arena that was closed
     */
    public long address() {
        if (life != null) {
            life.requireOpen();
        }
        return address;
    }

    /**
     * Keeps the memory of a {@link HostBuffer} until {@link #unpin} is called as often, also if the buffer is closed.
     * Does nothing for other memory. An operation pins its buffers from the call that issues it until it ends;
     * applications that give an address to other libraries may do the same.
     *
     * @throws IllegalStateException if the memory is that of a {@link HostBuffer} or an arena that was closed
     */
    public void pin() {
        if (life != null) {
            life.pin();
        }
    }

    /**
     * Undoes one {@link #pin}.
     *
     * @throws IllegalStateException if the memory is that of a {@link HostBuffer} and nobody has pinned it
     */
    public void unpin() {
        if (life != null) {
            life.unpin();
        }
    }

    /** Like {@link #address} for those who have pinned the memory: also valid when it was closed meanwhile. */
    public long pinnedAddress() {
        return address;
    }

    /**
     * A part of this buffer.
     *
     * @param offset where it begins, in elements
     * @param length how many elements
     * @throws IllegalArgumentException if it does not lie within this buffer
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

    /** For example {@code DataBuffer[type=float32, count=1024, memory=direct]}. */
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
        long address = Providers.provider().directAddress(buffer) + (long) buffer.position() * unitBytes;
        return ofAddress(address, count, type, buffer.isReadOnly(), buffer, null);
    }

    private static <B extends Buffer> B required(B buffer) {
        return Arguments.required("buffer", buffer, "the elements from position to limit of an NIO buffer");
    }

    /** The array, unless it is null. */
    static <A> A required(A array) {
        return Arguments.required("array", array, "an array of the elements");
    }

    /** The type, unless it is null. */
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
