package io.jccl.pytorch;

import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch_cuda;

/** The GPU of a rank, on which scenarios place tensors: a real one, or an {@link EmulatedTensors emulated} one. */
class TestGpu extends GpuTensors {

    /** The property by which tests use libtorch on a real GPU. */
    static final String REAL = "jccl.pytorch.gpu";

    private static final byte DEVICE = 0;

    /** Returns the real GPU if the property {@value #REAL} is true, else an emulated one. */
    static TestGpu use() {
        return Boolean.getBoolean(REAL) ? new TestGpu() : EmulatedTensors.use();
    }

    /** Returns a copy of a tensor in memory of the GPU. */
    Tensor copy(Tensor tensor) {
        return tensor.detach().clone().to(new Device(DeviceType.CUDA, DEVICE), tensor.scalar_type());
    }

    /** Puts a copy of a tensor's elements on the current stream. */
    void copyOnStream(Tensor to, Tensor from) {
        Tensors.withoutGradient(() -> to.copy_(from, true));
    }

    /** Waits until the GPU has done everything on the current stream. */
    void awaitStream() {
        torch_cuda.getCurrentCUDAStream(DEVICE).synchronize();
    }

    /** Moves the parameters and buffers of a module to the GPU. */
    final void move(Module module) {
        Tensors.withoutGradient(() -> {
            for (TensorVector tensors : new TensorVector[] {module.parameters(), module.buffers()}) {
                for (long i = 0; i < tensors.size(); i++) {
                    tensors.get(i).set_data(copy(tensors.get(i)));
                }
            }
        });
    }

    /** Waits for the current stream, and returns a copy in host memory. */
    final Tensor onHost(Tensor tensor) {
        awaitStream();
        return tensor.cpu();
    }
}
