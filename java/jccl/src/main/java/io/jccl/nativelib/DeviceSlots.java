package io.jccl.nativelib;

/**
 * Memory of a GPU in which connections over network adapters have slots. Made by {@link DeviceEngine#makeDeviceSlots}; the
 * engine of the host that gets it releases it when its adapters no longer write there.
 */
public final class DeviceSlots {

    private final long handle;
    final long address;
    final long bytes;
    final int dmabuf; // a descriptor that stays this object's; -1: none

    DeviceSlots(long[] facts) {
        this.handle = facts[0];
        this.address = facts[1];
        this.bytes = facts[2];
        this.dmabuf = (int) facts[3];
    }

    /** One owner less; once. */
    void release() {
        NativeDeviceCommunicator.releaseDeviceSlots(handle);
    }
}
