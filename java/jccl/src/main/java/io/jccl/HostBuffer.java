package io.jccl;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Memory on the host that the other ranks of this machine can read and write in place, so that large operations move no
 * byte twice. Sizes are {@code long}: more than 2 GiB is fine. The memory starts zeroed, and pages that nobody touches
 * take no room.
 *
 * <p>Close it when no operation that uses it is in flight; views and slices are invalid afterwards. A buffer that becomes
 * unreachable is freed by the garbage collector in the end. All methods may be called by any thread.
 */
public final class HostBuffer implements AutoCloseable {

    private static final Cleaner CLEANER = Cleaner.create();

    private final long address;
    private final long bytes;
    private final Release release;
    private final Cleaner.Cleanable cleanable;

    private HostBuffer(long address, long bytes) {
        this.address = address;
        this.bytes = bytes;
        this.release = new Release(address);
        this.cleanable = CLEANER.register(this, release);
    }

    /**
     * Allocates zeroed memory.
     *
     * @param bytes its size, at least 1
     * @throws IllegalArgumentException if {@code bytes} is not positive
     * @throws JcclException if the system has no room for it
     */
    public static HostBuffer allocate(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("bytes=" + bytes + ": expected a size of at least 1");
        }
        return new HostBuffer(Providers.provider().allocateShared(bytes), bytes);
    }

    /**
     * The address of the first byte, page-aligned.
     *
     * @throws IllegalStateException if the buffer is closed
     */
    public long address() {
        requireOpen();
        return address;
    }

    /** The size in bytes. */
    public long bytes() {
        return bytes;
    }

    /** Whether the memory has been freed. */
    public boolean isClosed() {
        return release.done.get();
    }

    /**
     * Elements of this buffer for use in operations, without a copy.
     *
     * @param offsetBytes where they begin
     * @param count how many elements
     * @param type their type
     * @throws IllegalArgumentException if they do not lie within the buffer
     */
    public DataBuffer slice(long offsetBytes, long count, DataType type) {
        requireOpen();
        if (offsetBytes < 0 || count < 0 || offsetBytes > bytes || count > (bytes - offsetBytes) / type.bytes()) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " count=" + count + " type="
                    + type.label() + ": lies outside of this buffer of bytes=" + bytes);
        }
        return DataBuffer.shared(this, address + offsetBytes, count, type);
    }

    /**
     * The whole buffer as elements; bytes beyond the last whole element are left out.
     *
     * @param type their type
     */
    public DataBuffer as(DataType type) {
        return slice(0, bytes / type.bytes(), type);
    }

    /**
     * A view of a part of the memory in native byte order, for reading and writing it from Java. The view does not keep
     * this buffer open.
     *
     * @param offsetBytes where the view begins
     * @param lengthBytes its length
     * @throws IllegalArgumentException if the view does not lie within the buffer
     */
    public ByteBuffer asByteBuffer(long offsetBytes, int lengthBytes) {
        requireOpen();
        if (offsetBytes < 0 || lengthBytes < 0 || offsetBytes > bytes - lengthBytes) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " lengthBytes=" + lengthBytes
                    + ": lies outside of this buffer of bytes=" + bytes);
        }
        return Providers.provider().view(address + offsetBytes, lengthBytes).order(ByteOrder.nativeOrder());
    }

    /** Frees the memory. A second call does nothing. */
    @Override
    public void close() {
        cleanable.clean();
    }

    private void requireOpen() {
        if (isClosed()) {
            throw new IllegalStateException("HostBuffer bytes=" + bytes + " is closed: close it after its last use");
        }
    }

    @Override
    public String toString() {
        return "HostBuffer[bytes=" + bytes + (isClosed() ? ", closed]" : "]");
    }

    /** Frees the memory once; must not refer to the buffer itself. */
    private static final class Release implements Runnable {
        private final long address;
        private final AtomicBoolean done = new AtomicBoolean();

        Release(long address) {
            this.address = address;
        }

        @Override
        public void run() {
            if (done.compareAndSet(false, true)) {
                Providers.provider().freeShared(address);
            }
        }
    }
}
