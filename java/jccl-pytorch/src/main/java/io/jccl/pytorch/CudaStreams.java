package io.jccl.pytorch;

import io.jccl.DeviceStream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.global.torch_cuda;

/** Reads libtorch's streams of GPUs. Only tensors on a GPU load this class, which needs {@code org.bytedeco:cuda}. */
final class CudaStreams {

    private CudaStreams() {}

    /** Returns the current stream of this thread on a GPU. */
    static DeviceStream current(byte device) {
        Pointer stream = torch_cuda.getCurrentCUDAStream(device).stream();
        return stream == null || stream.isNull() ? DeviceStream.DEFAULT : new DeviceStream(stream.address());
    }
}
