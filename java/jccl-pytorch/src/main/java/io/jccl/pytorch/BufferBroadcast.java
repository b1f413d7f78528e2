package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.Group;
import io.jccl.HostBuffer;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Copies the buffers of rank 0 to all ranks after each step: those in host memory through shared memory with one operation,
 * those on a GPU in place with one group.
 */
final class BufferBroadcast implements AutoCloseable {

    private final List<Tensor> onHost = new ArrayList<>();
    private final List<Tensor> onGpu = new ArrayList<>();
    private final List<Tensor> views = new ArrayList<>(); // of the memory, for the buffers in host memory
    private final @Nullable HostBuffer memory; // null if no buffer is in host memory
    private final List<Work> works = new ArrayList<>();

    /** @param buffers at least one */
    BufferBroadcast(List<ModuleState.Entry> buffers) {
        for (ModuleState.Entry buffer : buffers) {
            (GpuTensors.current().isOnGpu(buffer.tensor()) ? onGpu : onHost).add(buffer.tensor());
        }
        if (onHost.isEmpty()) {
            memory = null;
            return;
        }
        memory = HostBuffer.allocate(
                onHost.stream().mapToLong(BufferBroadcast::place).sum());
        long address = memory.address();
        for (Tensor buffer : onHost) {
            views.add(Tensors.over(address, buffer));
            address += place(buffer);
        }
    }

    private static long place(Tensor buffer) {
        return Math.max(1, (Tensors.bytes(buffer) + 63) / 64) * 64;
    }

    void issue(Communicator comm) {
        works.clear();
        if (memory != null) {
            if (comm.rank() == 0) {
                copy(onHost, views);
            }
            works.add(comm.broadcast(memory.as(DataType.INT8), 0));
        }
        if (!onGpu.isEmpty()) {
            Operand[] operands = onGpu.stream()
                    .map(buffer -> Operand.movedInto("buffer", buffer))
                    .toArray(Operand[]::new);
            Consumer<Group> broadcasts = group -> {
                for (Operand operand : operands) {
                    group.broadcast(operand.buffer(), 0);
                }
            };
            Work work = comm.on(GpuTensors.current().stream(onGpu.get(0))).group(broadcasts);
            works.add(new TensorWork(work, operands).work());
        }
    }

    /** Waits until the operations have ended, and takes over the buffers of rank 0. */
    void complete(Communicator comm) {
        works.forEach(Work::await);
        if (comm.rank() != 0) {
            copy(views, onHost);
        }
    }

    private static void copy(List<Tensor> from, List<Tensor> to) {
        for (int i = 0; i < from.size(); i++) {
            to.get(i).copy_(from.get(i));
        }
    }

    @Override
    public void close() {
        if (memory != null) {
            memory.close();
        }
    }
}
