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
 * Memory on the host that the other ranks of this host can read and write in place, so that large operations move no
 * byte twice. Sizes are {@code long}: more than 2 GiB is fine. The memory starts zeroed. From 2 MiB on it has huge pages
 * where the kernel gives them (Linux 6.1 and later), and then takes all of its memory at once; above 64 MiB only while that is a
 * quarter of the available memory at most. Otherwise pages that nobody touches take no memory.
 *
 * <p>Operations keep the memory of their buffers: {@link #close} gives it back when the last operation over it, issued
 * before, has ended. Afterwards the buffer and its slices refuse use; its views may be read and written, and no longer
 * show this memory.
 *
 * <p>The garbage collector frees a buffer that is never closed, when the buffer, its slices, its views and what was
 * derived from these are unreachable. All methods may be called by any thread.
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
     * @param bytes its size, at least 1
     * @throws IllegalArgumentException if {@code bytes} is not positive
     * @throws JcclException if it is more than the memory of this host or of its control group, or the system has no
     *     space for it
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
     * @param count how many, at least 1
     * @param type their type
     * @throws IllegalArgumentException if {@code count} is not positive, or their size is no {@code long}
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
     * The address of the first byte, page-aligned.
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

    /** The size in bytes. */
    public long bytes() {
        return memory.bytes();
    }

    /** Whether {@link #close} was called; operations that were issued before may still use the memory. */
    public boolean isClosed() {
        return memory.isClosed();
    }

    /**
     * Elements of this buffer for use in operations, without a copy.
     *
     * @param offsetBytes where they begin
     * @param count how many elements
     * @param type their type
     * @throws IllegalArgumentException if they do not lie within the buffer
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
     * The whole buffer as elements; bytes beyond the last whole element are left out.
     *
     * @param type their type
     * @throws IllegalStateException if the buffer is closed
     */
    public DataBuffer as(DataType type) {
        return slice(0, bytes() / DataBuffer.required(type).bytes(), type);
    }

    /** {@link #as} by a name that is no keyword of Kotlin. */
    public DataBuffer elements(DataType type) {
        return as(type);
    }

    /**
     * A view of a part of the memory in native byte order, for reading and writing it from Java.
     *
     * <p>The view, and every buffer that is derived from it, keeps the memory of a buffer that nobody refers to. It
     * does not keep this buffer open: after {@link #close} it shows memory of its own, which is zero at first, and
     * operations over it are refused.
     *
     * @param offsetBytes where the view begins
     * @param lengthBytes its length
     * @throws IllegalArgumentException if the view does not lie within the buffer
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
     * @param offsetBytes where the view begins
     * @param count how many elements, so many that a {@code ByteBuffer} can hold them
     * @throws IllegalArgumentException if the view does not lie within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public FloatBuffer asFloatBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Float.BYTES)).asFloatBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code double}.
     *
     * @param offsetBytes where the view begins
     * @param count how many elements, so many that a {@code ByteBuffer} can hold them
     * @throws IllegalArgumentException if the view does not lie within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public DoubleBuffer asDoubleBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Double.BYTES)).asDoubleBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code int}.
     *
     * @param offsetBytes where the view begins
     * @param count how many elements, so many that a {@code ByteBuffer} can hold them
     * @throws IllegalArgumentException if the view does not lie within the buffer, or is 2 GiB or larger
     * @throws IllegalStateException if the buffer is closed
     */
    public IntBuffer asIntBuffer(long offsetBytes, int count) {
        return asByteBuffer(offsetBytes, viewBytes(count, Integer.BYTES)).asIntBuffer();
    }

    /**
     * Like {@link #asByteBuffer}, as elements of type {@code long}.
     *
     * @param offsetBytes where the view begins
     * @param count how many elements, so many that a {@code ByteBuffer} can hold them
     * @throws IllegalArgumentException if the view does not lie within the buffer, or is 2 GiB or larger
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
     * @param offsetBytes where they go
     * @throws IllegalArgumentException if they do not fit there
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
     * @param offsetBytes where they begin
     * @throws IllegalArgumentException if there are not as many
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
     * @param offsetBytes where they go
     * @throws IllegalArgumentException if they do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, int[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Integer.BYTES, (part, from, count) -> part.asIntBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes where they begin
     * @throws IllegalArgumentException if there are not as many
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
     * @param offsetBytes where they go
     * @throws IllegalArgumentException if they do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, long[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Long.BYTES, (part, from, count) -> part.asLongBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes where they begin
     * @throws IllegalArgumentException if there are not as many
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
     * @param offsetBytes where they go
     * @throws IllegalArgumentException if they do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, float[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Float.BYTES, (part, from, count) -> part.asFloatBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes where they begin
     * @throws IllegalArgumentException if there are not as many
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
     * @param offsetBytes where they go
     * @throws IllegalArgumentException if they do not fit there
     * @throws IllegalStateException if the buffer is closed
     */
    public void put(long offsetBytes, double[] source) {
        copy(offsetBytes, DataBuffer.required(source).length, Double.BYTES, (part, from, count) -> part.asDoubleBuffer()
                .put(source, from, count));
    }

    /**
     * Fills an array with elements of the memory.
     *
     * @param offsetBytes where they begin
     * @throws IllegalArgumentException if there are not as many
     * @throws IllegalStateException if the buffer is closed
     */
    public void get(long offsetBytes, double[] destination) {
        copy(
                offsetBytes,
                DataBuffer.required(destination).length,
                Double.BYTES,
                (part, from, count) -> part.asDoubleBuffer().get(destination, from, count));
    }

    /** Moves elements between an array and the memory, in parts that a buffer can show. */
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

    /** Copies one part. */
    @FunctionalInterface
    interface PartCopy {
        /**
         * @param part the part of the memory, in native byte order
         * @param from the part's first element in the array
         * @param count how many elements it has
         */
        void copy(ByteBuffer part, int from, int count);
    }

    /**
     * Gives the memory back to the system, at once or when the last operation that was issued over it has ended; does
     * not wait for it. Operations that are issued from now on are refused. A second call does nothing.
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
