package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch_cuda;

/** Reads libtorch's streams of GPUs. Only tensors on a GPU load this class, which needs {@code org.bytedeco:cuda}. */
final class CudaStreams {

    /** For each communicator the stream of its reductions, because a communicator's ranks must not share a stream. */
    private static final Map<Communicator, CUDAStream> SIDE_STREAMS = Collections.synchronizedMap(new WeakHashMap<>());

    private CudaStreams() {}

    /** Returns the current stream of this thread on a GPU. */
    static DeviceStream current(byte device) {
        return handle(torch_cuda.getCurrentCUDAStream(device));
    }

    /** Returns the communicator's stream next to the current one, after it was made to wait for the work on that. */
    static DeviceStream sideStream(Communicator comm, byte device) {
        CUDAStream side = SIDE_STREAMS.computeIfAbsent(
                comm, key -> Tensors.keep(torch_cuda.getStreamFromPool(true, device))); // of high priority
        int[] before = new int[1];
        require("cudaGetDevice", cudart.cudaGetDevice(before));
        require("cudaSetDevice", cudart.cudaSetDevice(device)); // an event belongs to the current device
        try {
            CUevent_st event = new CUevent_st();
            require("cudaEventCreate", cudart.cudaEventCreateWithFlags(event, cudart.cudaEventDisableTiming));
            try {
                require(
                        "cudaEventRecord",
                        cudart.cudaEventRecord(event, torch_cuda.getCurrentCUDAStream(device).stream()));
                require("cudaStreamWaitEvent", cudart.cudaStreamWaitEvent(side.stream(), event, 0));
            } finally {
                cudart.cudaEventDestroy(event); // CUDA keeps what the stream still waits for
            }
        } finally {
            cudart.cudaSetDevice(before[0]);
        }
        return handle(side);
    }

    private static DeviceStream handle(CUDAStream of) {
        Pointer stream = of.stream();
        return stream == null || stream.isNull() ? DeviceStream.DEFAULT : new DeviceStream(stream.address());
    }

    private static void require(String call, int code) {
        if (code != cudart.cudaSuccess) {
            throw new DeviceException(call + " returned " + code + " ("
                    + cudart.cudaGetErrorString(code).getString() + "): expected 0; see the first failure on this GPU");
        }
    }
}
