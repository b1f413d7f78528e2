package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * Gradients of one type that ranks average together. They are in shared memory, one after the other; zeros fill the gaps
 * between them.
 */
public final class GradientBucket {

    /** Buckets that an application's tensors still pointed to when they were closed. Their memory is never freed. */
    private static final Set<HostBuffer> STILL_USED = ConcurrentHashMap.newKeySet();

    private final int index;
    private final ScalarType scalarType;
    private final DataType type;
    private final HostBuffer memory;
    private final Tensor tensor;
    private final List<ReducedParameter> parameters;
    private int missing; // parameters whose gradients are not in the bucket yet
    private CommHook.@Nullable Completion completion; // null until the bucket is issued

    private GradientBucket(int index, List<ModuleState.Entry> entries) {
        this.index = index;
        this.scalarType = entries.get(0).tensor().scalar_type().intern();
        this.type = Tensors.arithmeticType(entries.get(0).name(), scalarType);
        this.memory = HostBuffer.allocate(
                entries.stream().mapToLong(GradientBucket::place).sum());
        this.tensor = Tensors.over(memory.address(), memory.bytes() / type.bytes(), scalarType);
        List<ReducedParameter> placed = new ArrayList<>();
        long address = memory.address();
        for (ModuleState.Entry entry : entries) {
            placed.add(new ReducedParameter(entry, this, Tensors.over(address, entry.tensor())));
            address += place(entry);
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
                    || groups.get(groups.size() - 1)
                                    .get(0)
                                    .tensor()
                                    .scalar_type()
                                    .intern()
                            != entry.tensor().scalar_type().intern()) {
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
            buckets.forEach(bucket -> bucket.memory.close());
            throw e;
        }
    }

    /** Returns the bytes of a gradient and the gap after it. Each gradient begins a block of the wire formats. */
    private static long place(ModuleState.Entry entry) {
        long block = WireFormat.BLOCK * entry.tensor().element_size();
        return Math.max(1, (Tensors.bytes(entry.tensor()) + block - 1) / block) * block;
    }

    /** Returns the number of this bucket: bucket 0 has the gradients of the last parameters. */
    public int index() {
        return index;
    }

    /** Returns the type of the elements. */
    public DataType type() {
        return type;
    }

    /** Returns the gradients and the gaps between them, for operations in place. */
    public DataBuffer buffer() {
        return memory.as(type);
    }

    /** Returns the gradients and the gaps between them as a flat tensor over the same memory. */
    public Tensor tensor() {
        return tensor;
    }

    /** Returns the memory of the gradients. */
    public HostBuffer memory() {
        return memory;
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
        if (used || tensor.use_count() > 1 || tensor.storage().use_count() > 1) {
            STILL_USED.add(memory);
        } else {
            memory.close();
        }
    }
}
