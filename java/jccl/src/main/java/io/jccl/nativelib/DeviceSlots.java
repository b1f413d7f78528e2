package io.jccl.nativelib;

/**
 * Memory of a GPU in which connections over network adapters have slots. {@link DeviceEngine#makeDeviceSlots} makes it;
 * the {@link NativeEngine} that receives it releases it when its adapters no longer write there.
 */
public final class DeviceSlots {

    private final long handle;
    private final long address;
    private final long bytes;
    private final int dmabuf;

    DeviceSlots(long[] row) {
        this.handle = row[Rows.SLOTS_HANDLE];
        this.address = row[Rows.SLOTS_ADDRESS];
        this.bytes = row[Rows.SLOTS_BYTES];
        this.dmabuf = (int) row[Rows.SLOTS_DMABUF];
    }

    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Returns a descriptor of the memory, which this object owns; -1 if there is none. */
    public int dmabuf() {
        return dmabuf;
    }

    /** Gives up this owner's share of the memory. Call this method once. */
    void release() {
        release(handle);
    }

    private static native void release(long handle);
}
