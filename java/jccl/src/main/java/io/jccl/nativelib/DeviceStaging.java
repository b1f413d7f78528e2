package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.lang.annotation.Native;

/**
 * Puts copies, signals and waits on streams of a device whose operations the host executes (host staging). One thread
 * at a time calls {@link #put} and {@link #area}; any thread may call the other methods. The owner ensures that no call
 * is inside when {@link #destroy} is called, and that none comes later.
 */
public final class DeviceStaging {

    // The row of a step, which put() takes.

    /** {@link #COPY}, {@link #SIGNAL} or {@link #WAIT}. */
    @Native
    public static final int STEP_KIND = 0;
    /** Address to copy to. */
    @Native
    public static final int STEP_TO = 1;
    /** Address to copy from. */
    @Native
    public static final int STEP_FROM = 2;
    /** Bytes of a copy, else the number of the signal or wait. */
    @Native
    public static final int STEP_NUMBER = 3;
    /** Length of the row of a step. */
    @Native
    public static final int STEP_LENGTH = 4;
    /** Copies between memory of the device and pinned memory. */
    @Native
    public static final int COPY = 0;
    /** Signals the host that the stream has come this far. */
    @Native
    public static final int SIGNAL = 1;
    /** Holds the stream until the host calls {@link #open(long)} with the number of this wait or a later one. */
    @Native
    public static final int WAIT = 2;
    /** Number of the first signal, and of the first wait. */
    @Native
    public static final int FIRST = 2;

    /** Result of a native await that timed out. */
    @Native
    private static final int PENDING = 0;
    /** Result of a native await: the streams have reached the signal. */
    @Native
    private static final int REACHED = 1;

    private final int device;
    private final long handle;
    private volatile long areaBytes;

    private DeviceStaging(int device, long handle) {
        this.device = device;
        this.handle = handle;
    }

    /**
     * Creates the staging of a communicator, and tests a signal and a wait on a stream of the device.
     *
     * @param device the device's number in this process
     * @param idHigh high half of the communicator's id
     * @param idLow low half of the id
     * @throws DeviceException if that fails; the message has the reason
     */
    public static DeviceStaging create(int device, int rank, long idHigh, long idLow, long timeoutNanos) {
        CudaLoader.load();
        long handle = createStaging(device, rank, idHigh, idLow, timeoutNanos);
        if (handle == 0) {
            throw new DeviceException("device=" + device + ": operations cannot be staged through the host: "
                    + lastError(0)
                    + "; use host buffers, start an MPS server for the processes that"
                    + " share this GPU, or set JCCL_GPU_HOST_STAGING=off");
        }
        return new DeviceStaging(device, handle);
    }

    /** Returns the stream for operations that the application issues without a stream. */
    public long ownStream() {
        return ownStream(handle);
    }

    /**
     * Returns the address of at least {@code bytes} bytes of pinned memory. An area that is larger than the previous
     * one is new memory; the previous one stays valid.
     *
     * @throws DeviceException if there is no memory for it
     */
    public long area(long bytes) {
        long address = area(handle, bytes);
        if (address == 0) {
            throw new DeviceException("device=" + device + " bytes=" + bytes
                    + ": no pinned memory for it, JCCL_GPU_HOST_STAGING_BUFFSIZE or a group of sends and receives is too large: "
                    + lastError());
        }
        areaBytes = areaBytes(handle);
        return address;
    }

    /** Returns the bytes of all areas together; 0 after {@link #destroy}. Any thread may call this at any time. */
    public long areaBytes() {
        return areaBytes;
    }

    /**
     * Puts steps on a stream. The device executes them after all steps that earlier calls have put on other streams.
     *
     * @param rows {@link #STEP_LENGTH} numbers for each step
     * @param length count of the steps
     * @return count of the steps that are on the stream, fewer than {@code length} if a step failed; or a code below
     *     {@link Code#OK} if none is
     */
    public int put(long[] rows, int length, long stream) {
        return put(handle, rows, length, stream);
    }

    /**
     * Waits until the streams have come to a signal, for at most {@code nanos} nanoseconds.
     *
     * @return true if they have
     * @throws DeviceException if the device has failed
     */
    public boolean await(long signal, long nanos) {
        int answer = await(handle, signal, nanos);
        if (answer < Code.OK) {
            throw new DeviceException("device=" + device + ": it has failed: " + lastError());
        }
        return answer == REACHED;
    }

    /** Lets the streams pass a wait and all earlier ones. */
    public void open(long wait) {
        open(handle, wait);
    }

    /** Returns the text of the last error. */
    public String lastError() {
        return lastError(handle);
    }

    /** Lets the streams pass all waits, gives them a moment to do so, and frees this object. */
    public void destroy() {
        areaBytes = 0;
        destroy(handle);
    }

    private static native long createStaging(int device, int rank, long idHigh, long idLow, long timeoutNanos);

    private static native long ownStream(long handle);

    private static native long area(long handle, long bytes);

    private static native long areaBytes(long handle);

    private static native int put(long handle, long[] rows, int length, long stream);

    private static native int await(long handle, long signal, long nanos);

    private static native void open(long handle, long wait);

    private static native String lastError(long handle);

    private static native void destroy(long handle);
}
