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
 * JCuda's pointers and streams as JCCL's. Nothing is copied and nothing is owned: the application frees the memory and
 * destroys the stream, after the operations that use them.
 *
 * <p>JCuda is an optional dependency: where its jar, its natives or NVIDIA's driver are missing, every method throws a
 * {@link DeviceException} that says which, and the remedy. {@link CudaSupport#missing()} asks beforehand. Safe for use by
 * any thread.
 */
@SuppressWarnings("exports") // who calls this requires JCuda; others do without it
public final class Cuda {

    private Cuda() {}

    /**
     * Memory of a device.
     *
     * @param pointer to the first element: from {@code cudaMalloc}, or a {@code CUdeviceptr} from {@code cuMemAlloc}; an
     *     offset given by {@code withByteOffset} counts
     * @param count how many elements
     * @param type their type
     * @throws IllegalArgumentException if the count is negative, or the pointer is none to memory of a device while count is
     *     not 0
     * @throws DeviceException if JCuda cannot be used
     */
    public static DataBuffer buffer(Pointer pointer, long count, DataType type) {
        JCudaLibrary.require("A buffer of a device");
        return DataBuffer.device(Addresses.of(pointer, count), count, type);
    }

    /**
     * A stream of the runtime interface.
     *
     * @param stream null is the default stream
     * @throws DeviceException if JCuda cannot be used
     */
    public static DeviceStream stream(@Nullable cudaStream_t stream) {
        JCudaLibrary.require("A stream of a device");
        return stream == null ? DeviceStream.DEFAULT : new DeviceStream(Addresses.of(stream));
    }

    /**
     * A stream of the driver interface.
     *
     * @param stream null is the default stream
     * @throws DeviceException if JCuda cannot be used
     */
    public static DeviceStream stream(@Nullable CUstream stream) {
        JCudaLibrary.require("A stream of a device");
        return stream == null ? DeviceStream.DEFAULT : new DeviceStream(Addresses.of(stream));
    }
}
