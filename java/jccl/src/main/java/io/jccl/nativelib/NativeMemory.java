package io.jccl.nativelib;

import io.jccl.JcclException;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Allocates, registers, copies and shows native memory. Methods that allocate or show memory load the library, and
 * throw a {@link NativeLoadException} if that fails. A static initializer would turn such a failure into an error of
 * the JVM.
 */
public final class NativeMemory {

    private NativeMemory() {}

    /**
     * Returns a direct buffer over existing memory, in NIO's default byte order. The memory must outlive the buffer.
     *
     * @param address address of the first byte, not 0
     * @param bytes size of the buffer
     */
    public static ByteBuffer view(long address, int bytes) {
        if (address == 0 || bytes < 0) {
            throw new IllegalArgumentException("address=" + address + " bytes=" + bytes + ": not a range of memory");
        }
        NativeLoader.load();
        ByteBuffer view = newDirectBuffer(address, bytes);
        if (view == null) {
            throw new UnsupportedOperationException(
                    "this JVM has no direct buffers over native memory; use another JVM");
        }
        return view;
    }

    /** Returns the address of the first byte, not of the position, of a direct buffer; 0 for any other buffer. */
    public static long directAddress(Buffer buffer) {
        NativeLoader.load();
        return addressOf(buffer);
    }

    /**
     * Returns the address of zeroed memory that other processes of this host can use in place.
     *
     * @throws JcclException if there is no memory; the message has the reason and the remedy
     */
    public static long sharedAlloc(long bytes) {
        NativeLoader.load();
        long address = allocateShared(bytes);
        if (address == 0) {
            throw new JcclException("bytes=" + bytes + ": shared memory cannot be made: " + lastError());
        }
        return address;
    }

    /** Frees the pages of memory of {@link #sharedAlloc}. Its addresses stay valid until {@link #sharedFree}. */
    public static void sharedRetire(long address) {
        retireShared(address);
        LogThread.serveOnce();
    }

    /** Frees memory of {@link #sharedAlloc}. */
    public static void sharedFree(long address) {
        freeShared(address);
        LogThread.serveOnce();
    }

    /**
     * Registers ordinary memory, so that other processes of this host can use it in place. No thread may write to the
     * memory during this call.
     *
     * @return number of the registration
     * @throws JcclException if this memory cannot be registered; the message has the reason and the remedy
     */
    public static long registered(long address, long bytes) {
        NativeLoader.load();
        long registration = register(address, bytes);
        if (registration == 0) {
            throw new JcclException(lastError());
        }
        return registration;
    }

    /**
     * Ends a registration. No thread of this or another process may use its memory during this call.
     *
     * @return true if the memory was still there; false if its owner has already freed it
     * @throws JcclException if the system has no memory for this; then the memory stays registered
     */
    public static boolean endRegistration(long registration) {
        int code = unregister(registration);
        if (code < 0) {
            throw new JcclException(lastError());
        }
        return code == 0;
    }

    /** Copies bytes between ranges of memory that do not overlap. */
    public static native void copy(long from, long to, long bytes);

    /**
     * Calls a native function {@code void f(const void* next, void* accumulator, int64_t bytes, void* context)}.
     *
     * @param function address of the function
     */
    public static native void fold(long function, long context, long next, long accumulator, long bytes);

    /**
     * Combines elements of two ranges of memory, which are the same range or do not overlap. The library must be loaded.
     *
     * @param type the number of a {@link io.jccl.DataType}
     * @param op the number of a {@link io.jccl.ReduceOp} that supports the type
     * @param next address of the right operands
     * @param accumulator address of the left operands, and of the results
     */
    public static native void reduce(int type, int op, long next, long accumulator, long count);

    /**
     * Rounds float32 in place as operations with a format between hosts do.
     *
     * @param format a number of {@code Signatures}, not that of the exact format
     * @param position place of the first element in the application's buffer
     */
    public static native void round(int format, long seed, long address, long position, long count);

    private static native long addressOf(Buffer buffer);

    private static native long allocateShared(long bytes);

    private static native int retireShared(long address);

    private static native int freeShared(long address);

    private static native long register(long address, long bytes);

    private static native int unregister(long registration);

    private static native String lastError();

    private static native ByteBuffer newDirectBuffer(long address, long bytes);
}
