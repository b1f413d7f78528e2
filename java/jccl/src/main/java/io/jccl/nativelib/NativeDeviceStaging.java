package io.jccl.nativelib;

/**
 * What a communicator puts on streams where the host carries out its operations on device memory: only primitives and
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
    /** Tells the host that the stream has come so far; the number is the mark's. */
    public static final int MARK = 1;
    /** Holds the stream until the host opens it; the number is the gate's. */
    public static final int GATE = 2;
    /** The first number of marks and of gates. */
    public static final int FIRST = 2;

    /** Of {@link #await}: the time passed before. */
    public static final int PENDING = 0;
    /** Of {@link #await}: the streams have come to the mark. */
    public static final int REACHED = 1;

    private NativeDeviceStaging() {}

    /**
     * Makes it, and tries a mark and a gate.
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
    static native int await(long staging, long mark, long nanos);

    /** Opens a gate and those before it. */
    static native void open(long staging, long gate);

    static native String lastError(long staging);

    /** Opens all gates, waits a moment for the streams to pass them, and frees. */
    static native void destroy(long staging);
}
