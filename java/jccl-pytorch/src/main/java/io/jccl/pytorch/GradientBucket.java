package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.Operations;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Gradients of one type that ranks average together. They are in memory that all ranks reach, one after the other; zeros
 * fill the gaps between them.
 */
public final class GradientBucket {

    private final int index;
    private final BucketMemory memory;
    private final List<ReducedParameter> parameters;
    private int missing; // parameters whose gradients are not in the bucket yet
    private CommHook.@Nullable Completion completion; // null until the bucket is issued

    private GradientBucket(int index, List<ModuleState.Entry> entries) {
        this.index = index;
        Tensor first = entries.get(0).tensor();
        this.memory = BucketMemory.allocate(
                entries.stream().mapToLong(GradientBucket::place).sum(),
                first.scalar_type().intern(),
                first);
        List<ReducedParameter> placed = new ArrayList<>();
        long offset = 0;
        for (ModuleState.Entry entry : entries) {
            placed.add(new ReducedParameter(entry, this, memory.view(offset, entry.tensor())));
            offset += place(entry);
        }
        this.parameters = List.copyOf(placed);
        this.missing = parameters.size();
    }

    /**
     * Divides parameters into buckets, the last parameters first, because their gradients are usually ready first.
     *
     * @param bytes the size from which no further parameter is added
     */
    static List<GradientBucket> divide(List<ModuleState.Entry> parameters, long bytes) {
        List<List<ModuleState.Entry>> groups = new ArrayList<>();
        long size = 0;
        for (int i = parameters.size() - 1; i >= 0; i--) {
            ModuleState.Entry entry = parameters.get(i);
            if (groups.isEmpty()
                    || size + place(entry) > bytes
                    || !isAlike(groups.get(groups.size() - 1).get(0).tensor(), entry.tensor())) {
                groups.add(new ArrayList<>());
                size = 0;
            }
            groups.get(groups.size() - 1).add(entry);
            size += place(entry);
        }
        List<GradientBucket> buckets = new ArrayList<>();
        try {
            for (List<ModuleState.Entry> group : groups) {
                buckets.add(new GradientBucket(buckets.size(), group));
            }
            return buckets;
        } catch (RuntimeException e) {
            buckets.forEach(bucket -> bucket.memory.close(false));
            throw e;
        }
    }

    private static boolean isAlike(Tensor one, Tensor other) {
        return one.scalar_type().intern() == other.scalar_type().intern()
                && one.device().equals(other.device());
    }

    private static long place(ModuleState.Entry entry) {
        return BucketMemory.place(entry.tensor());
    }

    /** Returns the number of this bucket: bucket 0 has the gradients of the last parameters. */
    public int index() {
        return index;
    }

    /** Returns the type of the elements. */
    public DataType type() {
        return memory.type();
    }

    /**
     * Returns the operations with which a hook reduces this bucket: those of the communicator, and on a GPU those of a
     * stream of its own. Each begins when the work that is now on libtorch's current stream is done, so it follows the
     * gradients, and the backward pass continues meanwhile. Wait for the {@link Work} before anything else uses the result.
     */
    public Operations<Work> on(Communicator comm) {
        GpuTensors gpus = GpuTensors.current();
        return gpus.isOnGpu(memory.tensor) ? comm.on(gpus.sideStream(comm, memory.tensor)) : comm;
    }

    /** Returns the gradients and the gaps between them, for operations in place. */
    public DataBuffer buffer() {
        return memory.buffer();
    }

    /** Returns the gradients and the gaps between them as a flat tensor over the same memory. */
    public Tensor tensor() {
        return memory.tensor;
    }

    /** Returns the memory of the gradients; empty if they are on a GPU. */
    public Optional<HostBuffer> memory() {
        return memory.host();
    }

    /** Lets all ranks use the memory in place. All ranks call this. */
    void register(Communicator comm) {
        memory.register(comm);
    }

    /** Returns the names of the parameters, in the order of their gradients. */
    public List<String> parameterNames() {
        return parameters.stream().map(ReducedParameter::name).toList();
    }

    List<ReducedParameter> parameters() {
        return parameters;
    }

    /** Counts one more gradient that is in the bucket. */
    void added() {
        missing--;
    }

    boolean isComplete() {
        return missing == 0;
    }

    void issue(Communicator comm, CommHook hook) {
        completion = hook.reduce(comm, this);
        if (completion == null) {
            throw new IllegalStateException("commHook returned null for bucket=" + index
                    + ": expected a Completion; return for example work::await");
        }
    }

    void await() {
        if (completion != null) {
            completion.await();
        }
    }

    /** Prepares for the next step. */
    void reset() {
        missing = parameters.size();
        completion = null;
        parameters.forEach(ReducedParameter::reset);
    }

    /** Frees the memory, unless tensors of the application still use it. Gradients become copies. */
    void close() {
        boolean used = false;
        for (ReducedParameter parameter : parameters) {
            used |= parameter.close();
        }
        memory.close(used || memory.hasTensors());
    }
}
