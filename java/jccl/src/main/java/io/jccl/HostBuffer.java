package io.jccl;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Memory on the host that all ranks of this host can read and write in place, so that large operations copy no byte
 * twice. Sizes are {@code long} and may exceed 2 GiB. The memory starts zeroed.
 *
 * <p>A buffer of 2 MiB or more uses huge pages if the kernel provides them (Linux 6.1 and later), and then all of its
 * memory is allocated at once. A buffer of more than 64 MiB does so only if it is at most a quarter of the available
 * memory. Without huge pages, pages that were never touched take no memory.
 *
 * <p>{@link #close} returns the memory to the system as soon as all operations on it that were issued before have
 * ended. After {@link #close} the buffer and its slices can no longer be used. Its views can still be read and written,
 * but they no longer show this memory.
 *
 * <p>The garbage collector frees a buffer that was never closed, when the buffer, its slices, its views and all objects
 * derived from these are unreachable. Any thread may call any method.
 */
public final class HostBuffer extends HostBufferOnJdk22 implements AutoCloseable {

    private final HostMemory memory;
    private final Cleaner.Cleanable cleanable;

    private HostBuffer(HostMemory memory) {
        this.memory = memory;
        this.cleanable = memory.hold(this);
    }

    /**
     * Allocates zeroed memory.
     *
     * @param bytes the size, at least 1
     * @throws IllegalArgumentException if {@code bytes} is not positive
     * @throws JcclException if {@code bytes} exceeds the memory of this host or of its control group, or the system
     *     cannot provide it
     */
    public static HostBuffer allocate(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("bytes=" + bytes + ": expected a size of at least 1");
        }
        return new HostBuffer(HostMemory.allocate(bytes));
    }

    /**
     * Allocates zeroed memory for elements.
     *
     * @param count the number of elements, at least 1
     * @param type the type of the elements
     * @throws IllegalArgumentException if {@code count} is not positive, or the size in bytes exceeds a {@code long}
     * @throws JcclException as {@link #allocate(long)}
     */
    public static HostBuffer allocate(long count, DataType type) {
        int bytes = DataBuffer.required(type).bytes();
        if (count <= 0 || count > Long.MAX_VALUE / bytes) {
            throw new IllegalArgumentException("count=" + count + " type=" + type.label() + ": expected 1 to "
                    + Long.MAX_VALUE / bytes + " elements");
        }
        return allocate(count * bytes);
    }

    /**
     * Returns the address of the first byte, which is page-aligned.
     *
     * @throws IllegalStateException if the buffer is closed
     */
    public long address() {
        memory.requireOpen();
        return memory.address();
    }

    @Override
    HostMemory memory() {
        return memory;
    }

    /** Returns the size in bytes. */
    public long bytes() {
        return memory.bytes();
    }

    /** Returns true if {@link #close} was called. Operations that were issued before may still use the memory. */
    public boolean isClosed() {
        return memory.isClosed();
    }

    /**
     * Returns elements of this buffer for use in operations, without a copy.
     *
     * @param offsetBytes the offset of the first element
     * @param count the number of elements
     * @param type the type of the elements
     * @throws IllegalArgumentException if the elements are not within the buffer
     * @throws IllegalStateException if the buffer is closed
     */
    public DataBuffer slice(long offsetBytes, long count, DataType type) {
        memory.requireOpen();
        DataBuffer.required(type);
        long bytes = bytes();
        if (offsetBytes < 0 || count < 0 || offsetBytes > bytes || count > (bytes - offsetBytes) / type.bytes()) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " count=" + count + " type="
                    + type.label() + ": lies outside of this buffer of bytes=" + bytes);
        }
        return DataBuffer.shared(this, memory, offsetBytes, count, type);
    }

    /**
     * Returns the whole buffer as elements, without the bytes that follow the last whole element.
     *
     * @param type the type of the elements
     * @throws IllegalStateException if the buffer is closed
     */
    public DataBuffer as(DataType type) {
        return slice(0, bytes() / DataBuffer.required(type).bytes(), type);
    }

    /** Same as {@link #as}, whose name is a keyword in Kotlin. */
    public DataBuffer elements(DataType type) {
        return as(type);
    }

    /**
     * Returns a view of a part of the memory in native byte order, through which Java reads and writes it.
     *
     * <p>While the view, or a buffer derived from it, is reachable, the garbage collector does not free the memory. The
     * view does not keep this buffer open, however: after {@link #close} the view shows separate memory, which is zero
     * at first, and operations refuse the view.
     *
     * @param offsetBytes the offset at which the view begins
     * @param lengthBytes the length of the view
     * @throws IllegalArgumentException if the view is not within the buffer
     * @throws IllegalStateException if the buffer is closed
     */
    public ByteBuffer asByteBuffer(long offsetBytes, int lengthBytes) {
        memory.requireOpen();
        if (offsetBytes < 0 || lengthBytes < 0 || offsetBytes > bytes() - lengthBytes) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " lengthBytes=" + lengthBytes
                    + ": lies outside of this buffer of bytes=" + bytes());
        }
        ByteBuffer view = memory.view(offsetBytes, lengthBytes);
        Reference.reachabilityFence(this);
        return view.order(ByteOrder.nativeOrder());
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code float}.
     *
     * @param offsetBytes the offset at which the view begins
     * @param count the number of elements, at most as many as a {@code ByteBuffer} can hold
     * @throws IllegalArgumentException if the view is not within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public FloatBuffer asFloatBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Float.BYTES)).asFloatBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code double}.
     *
     * @param offsetBytes the offset at which the view begins
     * @param count the number of elements, at most as many as a {@code ByteBuffer} can hold
     * @throws IllegalArgumentException if the view is not within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public DoubleBuffer asDoubleBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Double.BYTES)).asDoubleBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code int}.
     *
     * @param offsetBytes the offset at which the view begins
     * @param count the number of elements, at most as many as a {@code ByteBuffer} can hold
     * @throws IllegalArgumentException if the view is not within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public IntBuffer asIntBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Integer.BYTES)).asIntBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code long}.
     *
     * @param offsetBytes the offset at which the view begins
     * @param count the number of elements, at most as many as a {@code ByteBuffer} can hold
     * @throws IllegalArgumentException if the view is not within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public LongBuffer asLongBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Long.BYTES)).asLongBuffer();
    }

    private static int viewBytes(int count, int elementBytes) {
        int max = Integer.MAX_VALUE / elementBytes;
        if (count < 0 || count > max) {
            throw new IllegalArgumentException(
                    "count=" + count + ": expected 0 to " + max + " elements in a view; take several for more");
        }
        return count * elementBytes;
    }

    /**
     * Copies all elements of an array into the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the elements do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, byte[] source) {
        copy(
                offsetBytes,
                DataBuffer.required(source).length,
                Byte.BYTES,
                (part, from, count) -> part.put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the memory has too few elements from there on
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, byte[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Byte.BYTES,
                (part, from, count) -> part.get(destination, from, count));
    }

    /**
     * Copies all elements of an array into the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the elements do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, int[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Integer.BYTES, (part, from, count) -> part.asIntBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the memory has too few elements from there on
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, int[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Integer.BYTES,
                (part, from, count) -> part.asIntBuffer().get(destination, from, count));
    }

    /**
     * Copies all elements of an array into the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the elements do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, long[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Long.BYTES, (part, from, count) -> part.asLongBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the memory has too few elements from there on
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, long[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Long.BYTES,
                (part, from, count) -> part.asLongBuffer().get(destination, from, count));
    }

    /**
     * Copies all elements of an array into the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the elements do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, float[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Float.BYTES, (part, from, count) -> part.asFloatBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the memory has too few elements from there on
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, float[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Float.BYTES,
                (part, from, count) -> part.asFloatBuffer().get(destination, from, count));
    }

    /**
     * Copies all elements of an array into the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the elements do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, double[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Double.BYTES, (part, from, count) -> part.asDoubleBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes the offset of the first element in the memory
     * @throws IllegalArgumentException if the memory has too few elements from there on
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, double[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Double.BYTES,
                (part, from, count) -> part.asDoubleBuffer().get(destination, from, count));
    }

    /** Copies elements between an array and the memory, in parts that fit a {@code ByteBuffer}. */
    private void copy(long offsetBytes, int count, int elementBytes, PartCopy action) {
        memory.requireOpen();
        long length = (long) count * elementBytes;
        if (offsetBytes < 0 || length > bytes() - offsetBytes) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " length=" + count + " elementBytes="
                    + elementBytes + ": lies outside of this buffer of bytes=" + bytes());
        }
        memory.copy(offsetBytes, count, elementBytes, action);
        Reference.reachabilityFence(this);
    }

    /** Copies one part between an array and the memory. */
    @FunctionalInterface
    interface PartCopy {
        /**
         * @param part the part of the memory, in native byte order
         * @param from the index of the part's first element in the array
         * @param count the number of elements in the part
         */
        void copy(ByteBuffer part, int from, int count);
    }

    /**
     * Returns the memory to the system as soon as all operations on it that were issued before have ended. Does not
     * wait for operations. Operations that are issued from now on are refused. A second call does nothing.
     */
    @Override
    public void close() {
        cleanable.clean();
        memory.close();
    }

    @Override
    public String toString() {
        return "HostBuffer[bytes=" + bytes() + (isClosed() ? ", closed]" : "]");
    }
}
