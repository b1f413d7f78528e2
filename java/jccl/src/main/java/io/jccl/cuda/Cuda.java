package io.jccl.cuda;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.device.JCudaLibrary;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;
import org.jspecify.annotations.Nullable;

/**
 * Converts JCuda's pointers and streams to JCCL's. Nothing is copied, and ownership does not change: the application
 * frees the memory and destroys the stream, after the operations that use them have ended.
 *
 * <p>JCuda is an optional dependency. If its jar, its natives or NVIDIA's driver are missing, every method throws a
 * {@link DeviceException} that names the missing part and the remedy. Applications with pointers of another library
 * need no JCuda: they call {@link DataBuffer#device(long, long, DataType)} and create a {@link DeviceStream} from the
 * address of the stream. Safe for use by any thread.
 */
@SuppressWarnings("exports") // callers require JCuda themselves; modules that do not call this need no JCuda
public final class Cuda {

    private Cuda() {}

    /**
     * Returns memory of a device.
     *
     * @param pointer a pointer to the first element, from {@code cudaMalloc}, or a {@code CUdeviceptr} from {@code
     *     cuMemAlloc}. An offset set with {@code withByteOffset} counts
     * @param count the number of elements
     * @param type the type of the elements
     * @throws IllegalArgumentException if the count is negative, or if it is positive and the pointer does not point to
     *     memory of a device
     * @throws DeviceException if JCuda cannot be used
     */
    public static DataBuffer buffer(Pointer pointer, long count, DataType type) {
        JCudaLibrary.require("A buffer of a device");
        return DataBuffer.device(Addresses.of(pointer, count), count, type);
    }

    /**
     * Returns a stream of CUDA's runtime interface.
     *
     * @param stream the stream; null for the default stream
     * @throws DeviceException if JCuda cannot be used
     */
    public static DeviceStream stream(@Nullable cudaStream_t stream) {
        JCudaLibrary.require("A stream of a device");
        return stream == null ? DeviceStream.DEFAULT : new DeviceStream(Addresses.of(stream));
    }

    /**
     * Returns a stream of CUDA's driver interface.
     *
     * @param stream the stream; null for the default stream
     * @throws DeviceException if JCuda cannot be used
     */
    public static DeviceStream stream(@Nullable CUstream stream) {
        JCudaLibrary.require("A stream of a device");
        return stream == null ? DeviceStream.DEFAULT : new DeviceStream(Addresses.of(stream));
    }
}
