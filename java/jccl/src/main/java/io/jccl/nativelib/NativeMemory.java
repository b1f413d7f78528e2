package io.jccl.nativelib;

import io.jccl.JcclException;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Addresses and views of native memory. What makes or shows memory throws a {@link NativeLoadException} if the
 * library cannot be loaded; a static initializer would make an error of its own of that.
 */
public final class NativeMemory {

    private NativeMemory() {}

    /**
     * A direct buffer over existing memory, in NIO's default byte order. The memory must outlive the buffer.
     *
     * @param address the first byte, not 0
     * @param bytes how many
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
     * Zeroed memory that other processes of this host can use in place.
     *
     * @throws JcclException if the system gives none: why, and the remedy
     */
    public static long sharedAlloc(long bytes) {
        NativeLoader.load();
        long address = allocateShared(bytes);
        if (address == 0) {
            throw new JcclException("bytes=" + bytes + ": shared memory cannot be made: " + lastError());
        }
        return address;
    }

    /** Gives back the pages of what {@link #sharedAlloc} returned; its addresses are good until {@link #sharedFree}. */
    public static void sharedRetire(long address) {
        retireShared(address);
        LogThread.serveOnce();
    }

    /** Frees what {@link #sharedAlloc} returned. */
    public static void sharedFree(long address) {
        freeShared(address);
        LogThread.serveOnce();
    }

    /**
     * Registers ordinary memory, so that other processes of this host can use it in place; nobody may write to it meanwhile.
     *
     * @return names the registration
     * @throws JcclException if this memory cannot be registered: why, and the remedy
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
     * Ends a registration; nobody uses its memory meanwhile, here or in other processes.
     *
     * @return whether its memory was still there; if not, its owner has freed it before
     * @throws JcclException if the system has no memory for it; it stays registered then
     */
    public static boolean endRegistration(long registration) {
        int code = unregister(registration);
        if (code < 0) {
            throw new JcclException(lastError());
        }
        return code == 0;
    }

    /** Copies bytes between places that do not overlap. */
    public static native void copy(long from, long to, long bytes);

    /**
     * Calls {@code void f(const void* next, void* accumulator, int64_t bytes, void* context)}.
     *
     * @param function its address
     */
    public static native void fold(long function, long context, long next, long accumulator, long bytes);

    private static native long addressOf(Buffer buffer);

    private static native long allocateShared(long bytes);

    private static native int retireShared(long address);

    private static native int freeShared(long address);

    private static native long register(long address, long bytes);

    private static native int unregister(long registration);

    private static native String lastError();

    private static native ByteBuffer newDirectBuffer(long address, long bytes);
}
