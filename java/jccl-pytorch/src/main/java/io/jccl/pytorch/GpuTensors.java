package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DeviceStream;
import io.jccl.Operations;
import io.jccl.Work;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Tells which tensors are in memory of a GPU, and which stream orders work on them. Tests replace it. */
class GpuTensors {

    private static volatile GpuTensors current = new GpuTensors();

    static GpuTensors current() {
        return current;
    }

    /** Replaces what libtorch says about tensors, for tests on hosts without a GPU. */
    static void replace(GpuTensors other) {
        current = other;
    }

    boolean isOnGpu(TensorBase tensor) {
        return tensor.is_cuda();
    }

    /** Returns the stream on which libtorch puts work of this thread on the tensor's GPU. */
    DeviceStream stream(TensorBase tensor) {
        return CudaStreams.current(tensor.device().index());
    }

    /**
     * Returns the stream on which a communicator reduces gradients next to the kernels of the backward pass. The stream
     * waits for the work that is on {@link #stream} now.
     */
    DeviceStream sideStream(Communicator comm, TensorBase tensor) {
        return CudaStreams.sideStream(comm, tensor.device().index());
    }

    /** Returns a flat tensor of zeros in the memory of the tensor's GPU. */
    Tensor zeros(long count, ScalarType type, TensorBase like) {
        return Tensors.keep(torch.zeros(new long[] {count}, optionsOf(type, like)));
    }

    /** Returns options for tensors of a type in the memory in which another tensor is. */
    static TensorOptions optionsOf(ScalarType type, TensorBase like) {
        return new TensorOptions(type).device(new DeviceOptional(like.device()));
    }

    /** Returns the operations on a tensor: on a GPU those that the current stream orders. */
    static Operations<Work> operations(Communicator comm, TensorBase tensor) {
        return current.isOnGpu(tensor) ? comm.on(current.stream(tensor)) : comm;
    }
}
