package io.jccl;

/**
 * A stream of a device. An operation on it begins when the earlier work of the stream is done.
 *
 * <p>This object only refers to a stream. The creator of the stream must not destroy it before every operation on it is
 * done. {@code io.jccl.cuda.Cuda} converts a JCuda stream to a {@code DeviceStream}.
 *
 * @param handle the address of a {@code cudaStream_t}, which is also a {@code CUstream}; 0 is the device's default
 *     stream
 */
public record DeviceStream(long handle) {

    /** The device's default stream. */
    public static final DeviceStream DEFAULT = new DeviceStream(0);

    /** Returns a text such as {@code DeviceStream[handle=0x7f3a5c0012a0]}. */
    @Override
    public String toString() {
        return "DeviceStream[handle=0x" + Long.toHexString(handle) + "]";
    }
}
