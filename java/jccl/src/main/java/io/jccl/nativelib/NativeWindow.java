package io.jccl.nativelib;

import io.jccl.JcclException;
import java.lang.annotation.Native;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * A window of one rank: memory that other ranks read and write by one-sided operations. The engine owns it.
 *
 * <p>One thread at a time calls {@link #describe} and {@link #open}, while no operation runs. Any thread may call the
 * other methods. Callers have checked the arguments. A call that returns a code below {@link Code#OK} leaves its reason
 * to {@link NativeEngine#callError()}. After {@link #endUse} all calls return {@link Code#INVALID}.
 */
public final class NativeWindow {

    /** Number of the signals of each pair of ranks. */
    @Native
    public static final int SIGNALS = 64;

    /** The id that stands for no signal. */
    @Native
    public static final int NO_SIGNAL = -1;

    private final NativeEngine engine;
    private final long window;
    private final boolean[] isMapped; // by rank: this process has mapped the memory of that rank
    private final Users users = new Users(); // the engine is not destroyed before endUse(), which waits for them

    private NativeWindow(NativeEngine engine, long window, int size) {
        this.engine = engine;
        this.window = window;
        isMapped = new boolean[size];
        for (int peer = 0; peer < size; peer++) {
            isMapped[peer] = isMapped(window, peer);
        }
    }

    /** Prepares an engine for windows; to be called before any other thread uses the engine. */
    public static void attach(NativeEngine engine) {
        attach(engine.handle);
    }

    /** Returns the bytes of memory that a window needs at each rank: its data and its signals. */
    public static native long totalBytes(long bytes, int size);

    /**
     * Returns where the memory of a window is; only native code reads this.
     *
     * @param address shared memory of {@link #totalBytes} bytes
     * @throws JcclException if other ranks could not find the memory
     */
    public static byte[] describe(NativeEngine engine, long address, long totalBytes) {
        byte[] place = describe(engine.handle, address, totalBytes);
        if (place == null) {
            throw new JcclException("the memory of the window cannot be described: " + NativeEngine.callError());
        }
        return place;
    }

    /**
     * Opens a window. No rank may use it before all ranks have opened it.
     *
     * @param number the same on all ranks, and another one for each window of the communicator
     * @param address zeroed shared memory of {@link #totalBytes} bytes
     * @param bytes the bytes of data
     * @param places what {@link #describe} returned on each rank
     * @throws JcclException if that fails; the message has the reason
     */
    public static NativeWindow open(NativeEngine engine, int number, long address, long bytes, List<byte[]> places) {
        int length = places.stream().mapToInt(place -> place.length).sum();
        byte[] all = new byte[length];
        int at = 0;
        for (byte[] place : places) {
            System.arraycopy(place, 0, all, at, place.length);
            at += place.length;
        }
        long window = open(engine.handle, number, address, bytes, all);
        if (window == 0) {
            throw new JcclException("the window cannot be opened: " + NativeEngine.callError());
        }
        return new NativeWindow(engine, window, places.size());
    }

    /**
     * Stores into the window of a rank, and then raises a signal there. Returns when the memory at {@code from} may
     * change.
     *
     * @param signal the id of the signal, or {@link #NO_SIGNAL}
     * @return a code
     */
    public int put(int peer, long offset, long from, long bytes, int signal, long timeoutNanos) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return put(window, peer, offset, from, bytes, signal, timeoutNanos);
        } finally {
            users.leave();
        }
    }

    /** Reads from the window of a rank; returns a code when the data is at {@code to}. */
    public int get(int peer, long offset, long to, long bytes, long timeoutNanos) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return get(window, peer, offset, to, bytes, timeoutNanos);
        } finally {
            users.leave();
        }
    }

    /**
     * Adds to a number in the window of a rank.
     *
     * @param before address of 8 bytes, which receive the previous number
     * @return a code
     */
    public int add(int peer, long offset, long addend, long before, long timeoutNanos) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return add(window, peer, offset, addend, before, timeoutNanos);
        } finally {
            users.leave();
        }
    }

    /**
     * Waits until a rank has raised {@code count} more signals with this id than earlier waits have taken.
     *
     * @return a code; {@link Code#TIMEOUT} if the time passes first, with no signal taken
     */
    public int waitSignal(int peer, int id, long count, long timeoutNanos) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return waitSignal(window, peer, id, count, timeoutNanos);
        } finally {
            users.leave();
        }
    }

    /** Waits until everything that this rank has put is in the memory of a rank; returns a code. */
    public int flush(int peer, long timeoutNanos) {
        if (isMapped[peer]) {
            VarHandle.fullFence(); // a put has stored its data there itself
            return Code.OK;
        }
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return flush(window, peer, timeoutNanos);
        } finally {
            users.leave();
        }
    }

    /**
     * Ends the waits of threads that use the window, and waits until none of them does. To be called before the engine
     * is destroyed.
     */
    public void endUse() {
        users.end();
        if (engine.enter()) {
            try {
                endUse(window);
                users.awaitNone();
            } finally {
                engine.leave();
            }
        }
    }

    /** Like {@link #endUse}; then drops the memory of other ranks. */
    public void close() {
        endUse();
        if (engine.enter()) {
            try {
                close(window);
            } finally {
                engine.leave();
            }
        }
    }

    /** Returns true if the network has failed, so that frames of peers are no longer applied. */
    public static boolean hasNetworkFailed(NativeEngine engine) {
        if (!engine.enter()) {
            return false;
        }
        try {
            return hasNetworkFailed(engine.handle);
        } finally {
            engine.leave();
        }
    }

    private static native void attach(long engine);

    private static native boolean hasNetworkFailed(long engine);

    private static native byte[] describe(long engine, long address, long totalBytes);

    private static native long open(long engine, int number, long address, long bytes, byte[] places);

    private static native boolean isMapped(long window, int peer);

    private static native int put(
            long window, int peer, long offset, long from, long bytes, int signal, long timeoutNanos);

    private static native int get(long window, int peer, long offset, long to, long bytes, long timeoutNanos);

    private static native int add(long window, int peer, long offset, long addend, long before, long timeoutNanos);

    private static native int waitSignal(long window, int peer, int id, long count, long timeoutNanos);

    private static native int flush(long window, int peer, long timeoutNanos);

    private static native void endUse(long window);

    private static native void close(long window);
}
