package io.jccl.init;

import io.jccl.nativelib.DeviceStaging;

/**
 * A communicator's part on a GPU whose operations the host carries out.
 *
 * @param ordinal the device's number in this process
 * @param staging what it puts on streams
 * @param slotBytes the most of one piece
 */
public record StagedDevice(int ordinal, DeviceStaging staging, long slotBytes) {

    /** So many pieces are in pinned memory at the same time. */
    public static final int SLOTS = 2;

    /** The bytes of pinned memory that collectives of so many ranks need: slots, and room for two numbers of each rank. */
    public long areaBytes(int ranks) {
        return SLOTS * slotBytes + 2L * ranks * Long.BYTES;
    }

    /** Lets the streams go on and frees; no operation may be in flight. */
    public void destroy() {
        staging.destroy();
    }
}
