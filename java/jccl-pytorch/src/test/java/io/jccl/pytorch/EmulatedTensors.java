package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DeviceStream;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.NativeDevice;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Tensors in memory of an emulated GPU, which the CPU can read and write, so that libtorch computes with them. What a real
 * GPU computes on the current stream, libtorch computes at once.
 */
final class EmulatedTensors extends TestGpu {

    private static final int DEVICE = 0;

    private final Map<Long, Long> allocated = new ConcurrentSkipListMap<>(); // bytes by address
    private final long stream = NativeDevice.newStream(DEVICE);
    private final long sideStream = NativeDevice.newStream(DEVICE);

    private EmulatedTensors() {}

    /** Lets {@code io.jccl.pytorch} take memory of emulated GPUs for that of GPUs. */
    static EmulatedTensors use() {
        CudaLoader.load();
        EmulatedTensors tensors = new EmulatedTensors();
        GpuTensors.replace(tensors);
        return tensors;
    }

    @Override
    boolean isOnGpu(TensorBase tensor) {
        long address = tensor.numel() == 0 ? 0 : tensor.data_ptr().address();
        Map.Entry<Long, Long> below = ((ConcurrentSkipListMap<Long, Long>) allocated).floorEntry(address);
        return below != null && address - below.getKey() < below.getValue();
    }

    @Override
    DeviceStream stream(TensorBase tensor) {
        return new DeviceStream(stream);
    }

    /** Returns a stream that waits for nothing: libtorch computes gradients at once. */
    @Override
    DeviceStream sideStream(Communicator comm, TensorBase tensor) {
        return new DeviceStream(sideStream);
    }

    @Override
    Tensor zeros(long count, ScalarType type, TensorBase like) {
        long bytes = Math.max(1, count * like.element_size());
        long address = NativeDevice.allocateMemory(DEVICE, bytes);
        NativeDevice.clearMemory(DEVICE, address, bytes);
        allocated.put(address, bytes);
        return Tensors.over(address, count, type);
    }

    @Override
    Tensor copy(Tensor tensor) {
        Tensor flat = zeros(tensor.numel(), tensor.scalar_type(), tensor);
        Tensor copy = Tensors.over(flat.data_ptr().address(), tensor);
        Tensors.withoutGradient(() -> copy.copy_(tensor.detach()));
        return copy;
    }

    @Override
    void copyOnStream(Tensor to, Tensor from) {
        NativeDevice.copyMemory(
                DEVICE, to.data_ptr().address(), from.data_ptr().address(), Tensors.bytes(from), stream);
    }

    @Override
    void awaitStream() {
        NativeDevice.awaitStream(DEVICE, stream);
    }
}
