package io.jccl;

/**
 * A stream of a device. An operation on it begins when the earlier work of the stream is done.
 *
 * <p>This object is only a name. Whoever created the stream must keep it until every operation on it is done, and
 * destroys it. {@code io.jccl.cuda.Cuda} makes a {@code DeviceStream} of a stream of JCuda.
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
