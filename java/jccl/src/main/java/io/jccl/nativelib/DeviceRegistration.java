package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.util.Optional;

/**
 * The part of a {@link DeviceEngine} that knows the buffers and the symmetric memory on which ranks work in place. Only
 * the thread that issues operations may use it.
 */
public final class DeviceRegistration {

    private final DeviceEngine engine;

    DeviceRegistration(DeviceEngine engine) {
        this.engine = engine;
    }

    /**
     * Begins to register a buffer, on which ranks of several processes work in place after {@link #useBuffer}. All
     * ranks call this together, when their operations are over. Then each rank opens the buffers of all others. If all
     * ranks have succeeded, all call {@link #useBuffer}, else all call {@link #dropBuffer}.
     *
     * @return what the others need to open the buffer; empty on failure, and {@link DeviceEngine#lastError} has the reason
     */
    public Optional<byte[]> describeBuffer(long address, long bytes) {
        return Optional.ofNullable(engine.answer(null, () -> describeBuffer(engine.handle, address, bytes)));
    }

    /**
     * Returns two descriptors for other processes: of the buffer, and of this rank's access page. A descriptor is -1 if
     * it does not exist. The caller closes them.
     */
    public int[] takeBufferDescriptors() {
        return engine.answer(new int[] {-1, -1}, () -> takeBufferDescriptors(engine.handle));
    }

    /**
     * Opens the buffer of a peer.
     *
     * @param buffer descriptor of the buffer, or -1; the call closes it
     * @param page descriptor of the peer's access page, or -1; the call closes it
     * @return address of the peer's buffer in this process, or a code below {@link Code#OK}
     */
    public long openBuffer(int peer, byte[] info, int buffer, int page, long timeoutNanos) {
        return engine.ask(Code.ABORTED, () -> openBuffer(engine.handle, peer, info, buffer, page, timeoutNanos));
    }

    /**
     * Uses the buffer from now on.
     *
     * @param there for each peer, the address that the peer's {@link #openBuffer} returned for this rank
     * @return number of the buffer, or a code below {@link Code#OK}
     */
    public long useBuffer(long[] there) {
        return engine.ask(Code.ABORTED, () -> useBuffer(engine.handle, there));
    }

    /** Drops the description of the buffer, and the peers' buffers that were opened. */
    public void dropBuffer(long timeoutNanos) {
        engine.ask(Code.ABORTED, () -> dropBuffer(engine.handle, timeoutNanos));
    }

    /**
     * Closes the peers' buffers that this rank has opened for a registration. When all ranks have done so, the
     * application may free its buffer. Returns the reason of a failure, or empty.
     */
    public Optional<String> closeBuffer(long number, long timeoutNanos) {
        return engine.failure((int) engine.ask(Code.OK, () -> closeBuffer(engine.handle, number, timeoutNanos)));
    }

    /**
     * Allocates zeroed memory of the device, which ranks of other processes can register.
     *
     * @param timeoutNanos maximum wait for kernels of this process: the driver would wait for them without a limit
     * @return address of the memory
     */
    public long allocateWindow(long bytes, long timeoutNanos) {
        long address = engine.ask(Code.ABORTED, () -> allocateWindow(engine.handle, bytes, timeoutNanos));
        if (address <= 0) {
            throw new DeviceException(engine.lastError());
        }
        return address;
    }

    /**
     * Lets operations use memory of {@link #allocateWindow} without an exchange of addresses. All ranks call this
     * together.
     *
     * @param here by rank, the address of its memory in this process
     * @param there by rank, the address of this rank's memory in its process; empty if all are the same
     */
    public void useWindow(long address, long[] here, long[] there) {
        engine.require("address=" + address, (int)
                engine.ask(Code.ABORTED, () -> useWindow(engine.handle, address, here, there)));
    }

    /** Frees memory of {@link #allocateWindow}, which no kernel uses any more. */
    public void freeWindow(long address) {
        engine.ask(Code.ABORTED, () -> freeWindow(engine.handle, address));
    }

    // Natives that return an int return a code.

    private static native byte[] describeBuffer(long handle, long address, long bytes);

    private static native int[] takeBufferDescriptors(long handle);

    private static native long openBuffer(long handle, int peer, byte[] info, int buffer, int page, long timeoutNanos);

    private static native long useBuffer(long handle, long[] there);

    private static native int dropBuffer(long handle, long timeoutNanos);

    private static native int closeBuffer(long handle, long number, long timeoutNanos);

    private static native long allocateWindow(long handle, long bytes, long timeoutNanos);

    private static native int useWindow(long handle, long address, long[] here, long[] there);

    private static native int freeWindow(long handle, long address);
}
