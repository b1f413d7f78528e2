package io.jccl;

/**
 * An order of work on a device: operations that are given one begin after what was put on it before.
 *
 * <p>It is a name only: whoever made the stream keeps it until every operation on it is done, and destroys it.
 * {@code io.jccl.cuda.Cuda} makes one of JCuda's streams.
 *
 * @param handle the address of a {@code cudaStream_t}, which is a {@code CUstream} as well; 0 is the device's default stream
 */
public record DeviceStream(long handle) {

    /** The device's default stream. */
    public static final DeviceStream DEFAULT = new DeviceStream(0);

    /** For example {@code DeviceStream[handle=0x7f3a5c0012a0]}. */
    @Override
    public String toString() {
        return "DeviceStream[handle=0x" + Long.toHexString(handle) + "]";
    }
}
