package io.jccl.nvls;

import io.jccl.nativelib.DeviceEngine;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * NVLS of an engine on a GPU, after {@link DeviceEngine#prepare}. One rank calls {@link #create}, and all ranks {@link
 * #join} the multicast object; when all have joined, all call {@link #bind}; when all have bound memory, all call
 * {@link #test} together. If any rank fails, all ranks call {@link #drop}.
 */
final class NativeNvls {

    private static final Optional<String> DESTROYED = Optional.of("the communicator is closed");

    private final DeviceEngine device;
    private final int slotBytes;

    /**
     * @param slotBytes bytes of the slot that each rank has in a channel; the same on all ranks
     */
    NativeNvls(DeviceEngine device, int slotBytes) {
        this.device = device;
        this.slotBytes = slotBytes;
    }

    /**
     * Makes a multicast object.
     *
     * @return what the others need to join; empty on failure, and {@link DeviceEngine#lastError} has the reason
     */
    Optional<byte[]> create() {
        return Optional.ofNullable(create(device.address(), slotBytes));
    }

    /** Returns the descriptor of the multicast object for other processes, if it has one. The caller closes it. */
    OptionalInt takeDescriptor() {
        int descriptor = device.guarded(-1, () -> takeDescriptor(device.address()));
        return descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
    }

    /**
     * Joins the multicast object of a rank.
     *
     * @param descriptor of the object, if another process made it; the call closes it
     * @return the reason of a failure, or empty
     */
    Optional<String> join(byte[] info, OptionalInt descriptor) {
        return device.failure(join(device.address(), slotBytes, info, descriptor.orElse(-1)));
    }

    /** Binds memory to the multicast object; returns the reason of a failure, or empty. */
    Optional<String> bind() {
        return device.failure(bind(device.address()));
    }

    /** Sends known data through the switch, together with all ranks; returns the reason of a failure, or empty. */
    Optional<String> test(long timeoutNanos) {
        return device.failure(test(device.address(), timeoutNanos));
    }

    /** Frees the multicast object. */
    void drop() {
        drop(device.address());
    }

    // The same for a symmetric window, which bind() precedes. `window` is its address on this rank. Other threads may
    // destroy the engine meanwhile.

    Optional<byte[]> createWindow(long window) {
        return device.guarded(Optional.empty(), () -> Optional.ofNullable(createWindow(device.address(), window)));
    }

    Optional<String> joinWindow(long window, byte[] info, OptionalInt descriptor) {
        return device.guarded(
                DESTROYED, () -> device.failure(joinWindow(device.address(), window, info, descriptor.orElse(-1))));
    }

    Optional<String> bindWindow(long window) {
        return device.guarded(DESTROYED, () -> device.failure(bindWindow(device.address(), window)));
    }

    void dropWindow(long window) {
        device.guarded(false, () -> {
            dropWindow(device.address(), window);
            return true;
        });
    }

    /** Returns true if the switch can execute an operation, packed by {@code Signatures}. */
    static native boolean executes(int operation);

    // Natives that return an int return a code, except takeDescriptor.

    private static native byte[] create(long device, int slotBytes);

    private static native int takeDescriptor(long device);

    private static native int join(long device, int slotBytes, byte[] info, int descriptor);

    private static native int bind(long device);

    private static native int test(long device, long timeoutNanos);

    private static native void drop(long device);

    private static native byte[] createWindow(long device, long window);

    private static native int joinWindow(long device, long window, byte[] info, int descriptor);

    private static native int bindWindow(long device, long window);

    private static native void dropWindow(long device, long window);
}
