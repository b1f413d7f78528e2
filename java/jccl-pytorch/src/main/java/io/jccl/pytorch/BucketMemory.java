package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory for gradients that operations use in place: a {@link HostBuffer}, or memory of a GPU, which libtorch allocates and
 * which is registered with the communicator.
 */
abstract class BucketMemory {

    private static final Logger LOG = LoggerFactory.getLogger(BucketMemory.class);

    private final DataType type;
    private final TensorBase like;
    final Tensor tensor; // flat

    private BucketMemory(DataType type, TensorBase like, Tensor tensor) {
        this.type = type;
        this.like = like;
        this.tensor = tensor;
    }

    /**
     * Allocates memory where a tensor is.
     *
     * @param bytes a multiple of the size of an element
     */
    static BucketMemory allocate(long bytes, ScalarType type, TensorBase like) {
        DataType elements = Tensors.arithmeticType("type", type);
        return GpuTensors.current().isOnGpu(like)
                ? new OnGpu(bytes / elements.bytes(), type, elements, like)
                : new OnHost(HostBuffer.allocate(bytes), type, elements, like);
    }

    /** Returns the bytes of a gradient and the gap after it. Each gradient begins a block of the wire formats. */
    static long place(TensorBase gradient) {
        long block = WireFormat.BLOCK * gradient.element_size();
        return Math.max(1, (Tensors.bytes(gradient) + block - 1) / block) * block;
    }

    /** Returns all elements, for operations in place. */
    abstract DataBuffer buffer();

    /** Returns the memory if it is of the host. */
    Optional<HostBuffer> host() {
        return Optional.empty();
    }

    /** Lets all ranks use the memory in place, as far as they can. All ranks call this. */
    void register(Communicator comm) {}

    /** Frees the memory. If tensors still use it, it stays. */
    abstract void close(boolean isUsed);

    /** Returns a tensor over a part of the memory, with the sizes of another. */
    final Tensor view(long offsetBytes, TensorBase sizes) {
        return Tensors.over(
                tensor.data_ptr().address() + offsetBytes, sizes, GpuTensors.optionsOf(sizes.scalar_type(), like));
    }

    final DataType type() {
        return type;
    }

    final boolean hasTensors() {
        return tensor.use_count() > 1 || tensor.storage().use_count() > 1;
    }

    private static final class OnHost extends BucketMemory {

        /** Memory that an application's tensors still pointed to when it was closed, and which is never freed. */
        private static final Set<HostBuffer> STILL_USED = ConcurrentHashMap.newKeySet();

        private final HostBuffer memory;

        OnHost(HostBuffer memory, ScalarType scalarType, DataType type, TensorBase like) {
            super(type, like, Tensors.over(memory.address(), memory.bytes() / type.bytes(), scalarType));
            this.memory = memory;
        }

        @Override
        DataBuffer buffer() {
            return memory.as(type());
        }

        @Override
        Optional<HostBuffer> host() {
            return Optional.of(memory);
        }

        @Override
        void close(boolean isUsed) {
            if (isUsed) {
                STILL_USED.add(memory);
            } else {
                memory.close();
            }
        }
    }

    private static final class OnGpu extends BucketMemory {

        /**
         * Memory that is registered with a communicator, which peers may have mapped until the communicator is closed.
         * Registrations are not closed here, because that would wait for the other ranks.
         */
        private static final Map<Communicator, List<Tensor>> REGISTERED =
                Collections.synchronizedMap(new WeakHashMap<>());

        OnGpu(long count, ScalarType scalarType, DataType type, TensorBase like) {
            super(type, like, GpuTensors.current().zeros(count, scalarType, like));
        }

        @Override
        DataBuffer buffer() {
            return DataBuffer.device(tensor.data_ptr().address(), tensor.numel(), type());
        }

        @Override
        void register(Communicator comm) {
            REGISTERED.computeIfAbsent(comm, key -> new ArrayList<>()).add(tensor);
            try {
                comm.register(buffer());
            } catch (JcclException refused) {
                if (comm.failure().isPresent()) {
                    throw refused;
                }
                LOG.warn(
                        "rank={} bytes={}: ranks do not use the gradients in place, which is slower",
                        comm.rank(),
                        buffer().bytes(),
                        refused);
            }
        }

        @Override
        void close(boolean isUsed) {} // libtorch frees the memory with the last tensor
    }
}
