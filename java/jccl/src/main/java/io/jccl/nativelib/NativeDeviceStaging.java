package io.jccl.nativelib;

/**
 * What a communicator puts on streams where the host executes its operations on device memory: only primitives and
 * addresses cross this border. Codes are those of {@link NativeCommunicator}.
 *
 * <p><b>Threads.</b> {@link #put} and {@link #area} by one thread at a time; the others by any thread at any time before
 * {@link #destroy}.
 */
public final class NativeDeviceStaging {

    // Steps of put().

    /** Longs per step: kind, the address to copy to, that to copy from, and a number. */
    public static final int STEP_LENGTH = 4;
    /** Copies between device and pinned memory; the number is how many bytes. */
    public static final int COPY = 0;
    /** A stream signal: the stream has come so far; the number is the signal's. */
    public static final int SIGNAL = 1;
    /** A stream wait: the stream waits until the host opens it; the number is the wait's. */
    public static final int WAIT = 2;
    /** The first number of signals and of waits. */
    public static final int FIRST = 2;

    /** Of {@link #await}: the time passed before. */
    public static final int PENDING = 0;
    /** Of {@link #await}: the streams have come to the signal. */
    public static final int REACHED = 1;

    private NativeDeviceStaging() {}

    /**
     * Makes it, and tries a signal and a wait.
     *
     * @return a handle, or 0, and {@link #lastError lastError(0)} says why
     */
    static native long create(int device, int rank, long idHigh, long idLow, long timeoutNanos);

    /** The stream of operations whose caller names none. */
    static native long ownStream(long staging);

    /** The address of at least so many bytes of pinned memory; 0 on failure. A larger area than the last is new. */
    static native long area(long staging, long bytes);

    /** The bytes of all areas together. */
    static native long areaBytes(long staging);

    /**
     * Puts steps on a stream, after what was put on others before.
     *
     * @param rows {@link #STEP_LENGTH} longs per step
     * @param length how many steps
     * @return how many are there: fewer if it failed; or a code if none is
     */
    static native int put(long staging, long[] rows, int length, long stream);

    /** {@link #REACHED}, {@link #PENDING}, or a code if the device has failed. */
    static native int await(long staging, long signal, long nanos);

    /** Opens a stream wait and those before it. */
    static native void open(long staging, long wait);

    static native String lastError(long staging);

    /** Opens all stream waits, pauses a moment for the streams to pass them, and frees. */
    static native void destroy(long staging);
}
