package io.jccl.nativelib;

import io.jccl.DeviceException;

/**
 * What a communicator puts on streams where the host executes its operations on device memory. The owner ensures that
 * no call is inside when {@link #destroy} is called, and none comes later.
 */
public final class DeviceStaging {

    private final int device;
    private final long handle;
    private volatile long areaBytes;

    private DeviceStaging(int device, long handle) {
        this.device = device;
        this.handle = handle;
    }

    /**
     * Makes it, and tries whether streams of the device can wait for the host.
     *
     * @param device the device's number in this process
     * @param idHigh the high half of the communicator's id
     * @param idLow its low half
     * @throws DeviceException if it cannot be made; says why
     */
    public static DeviceStaging create(int device, int rank, long idHigh, long idLow, long timeoutNanos) {
        CudaLoader.load();
        long handle = NativeDeviceStaging.create(device, rank, idHigh, idLow, timeoutNanos);
        if (handle == 0) {
            throw new DeviceException("device=" + device + ": operations cannot be staged through the host: "
                    + NativeDeviceStaging.lastError(0)
                    + "; use host buffers, start an MPS server for the processes that"
                    + " share this GPU, or set JCCL_GPU_HOST_STAGING=off");
        }
        return new DeviceStaging(device, handle);
    }

    /** The stream of operations whose caller names none. */
    public long ownStream() {
        return NativeDeviceStaging.ownStream(handle);
    }

    /**
     * Pinned memory of at least so many bytes. A larger area than the last is new, and the last remains what it was.
     *
     * @throws DeviceException if there is no memory for it
     */
    public long area(long bytes) {
        long address = NativeDeviceStaging.area(handle, bytes);
        if (address == 0) {
            throw new DeviceException("device=" + device + " bytes=" + bytes
                    + ": no pinned memory for it, JCCL_GPU_HOST_STAGING_BUFFSIZE or a group of sends and receives is too large: "
                    + lastError());
        }
        areaBytes = NativeDeviceStaging.areaBytes(handle);
        return address;
    }

    /** The bytes of all areas together; by any thread at any time, 0 after {@link #destroy}. */
    public long areaBytes() {
        return areaBytes;
    }

    /** Puts steps on a stream; see {@link NativeDeviceStaging#put}. */
    public int put(long[] rows, int length, long stream) {
        return NativeDeviceStaging.put(handle, rows, length, stream);
    }

    /**
     * Waits until the streams have come to a signal, for at most so long.
     *
     * @return whether they have
     * @throws DeviceException if the device has failed
     */
    public boolean await(long signal, long nanos) {
        int answer = NativeDeviceStaging.await(handle, signal, nanos);
        if (answer < NativeCommunicator.OK) {
            throw new DeviceException("device=" + device + ": it has failed: " + lastError());
        }
        return answer == NativeDeviceStaging.REACHED;
    }

    /** Opens a stream wait and those before it. */
    public void open(long wait) {
        NativeDeviceStaging.open(handle, wait);
    }

    /** The text of the last error. */
    public String lastError() {
        return NativeDeviceStaging.lastError(handle);
    }

    /** Opens all stream waits, pauses a moment for the streams to pass them, and frees. */
    public void destroy() {
        areaBytes = 0;
        NativeDeviceStaging.destroy(handle);
    }
}
