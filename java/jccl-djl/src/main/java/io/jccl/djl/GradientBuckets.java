package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ErrorFeedback;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.Work;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Averages gradients in buckets of shared memory, which the ranks of a host use in place. PyTorch's engine lets a gradient
 * move into its bucket, so the backward pass writes there and nothing is copied. A gradient that cannot move is copied into
 * its bucket and back.
 */
final class GradientBuckets {

    private static final Cleaner CLEANER = Cleaner.create();

    /**
     * The place of a gradient in a bucket.
     *
     * @param bytes the memory of the place
     */
    private record Place(ParameterTable.Entry entry, ByteBuffer bytes, long address) {

        Place(ParameterTable.Entry entry, HostBuffer memory, long offset, int size) {
            this(entry, memory.asByteBuffer(offset, size), memory.address() + offset);
            // Keeps the memory as long as the array of the parameter, whose gradient is there.
            CLEANER.register(entry.array(), () -> Reference.reachabilityFence(memory));
        }

        ByteBuffer view() {
            return bytes.duplicate().order(ByteOrder.nativeOrder());
        }
    }

    /** A bucket: gradients of one type. */
    private record Bucket(DataType type, HostBuffer memory) {

        DataBuffer buffer() {
            return memory.as(type);
        }
    }

    private final long capacity;
    private final @Nullable WireFormat compression;
    private final List<NDArray> arrays = new ArrayList<>(); // of the parameters in places, in their order
    private final List<Place> places = new ArrayList<>();
    private final List<Bucket> buckets = new ArrayList<>();
    /** Maps the array of a parameter to the rounding error of its gradient, which the next gradient includes. */
    private final Map<NDArray, ErrorFeedback> feedback = new IdentityHashMap<>();

    /**
     * @param bytes the size from which a bucket takes no further gradient
     * @param compression the format whose rounding errors are kept; null to keep none
     */
    GradientBuckets(long bytes, @Nullable WireFormat compression) {
        this.capacity = bytes;
        this.compression = compression;
    }

    /** Averages the gradients of parameters, and waits. All ranks must pass parameters of the same types and sizes. */
    void average(Communicator comm, List<ParameterTable.Entry> trainable, WireFormat format) {
        if (!isFor(trainable)) {
            divide(trainable);
        }
        Map<Place, TensorView> copies = new IdentityHashMap<>();
        for (Place place : places) {
            TensorView copy = fill(place);
            if (copy != null) {
                copies.put(place, copy);
            }
            compensate(place);
        }
        List<Work> works = new ArrayList<>();
        for (Bucket bucket : buckets) {
            WireFormat applied = WireFormat.supports(bucket.type()) ? format : WireFormat.EXACT;
            works.add(comm.allReduce(bucket.buffer(), ReduceOp.AVG, applied));
        }
        works.forEach(Work::await);
        copies.forEach((place, copy) -> {
            copy.bytes().put(place.view());
            copy.writeBack();
        });
    }

    private boolean isFor(List<ParameterTable.Entry> trainable) {
        for (int i = 0; i < trainable.size() && trainable.size() == arrays.size(); i++) {
            if (trainable.get(i).array() != arrays.get(i)) {
                return false;
            }
        }
        return trainable.size() == arrays.size();
    }

    /** Gives each gradient a place. Gradients leave earlier places, whose memory stays until their parameters are gone. */
    private void divide(List<ParameterTable.Entry> trainable) {
        arrays.clear();
        places.clear();
        buckets.clear();
        trainable.forEach(entry -> arrays.add(entry.array()));
        trainable.stream()
                .collect(Collectors.groupingBy(
                        GradientBuckets::type, () -> new EnumMap<>(DataType.class), Collectors.toList()))
                .forEach(this::divide);
    }

    private static DataType type(ParameterTable.Entry entry) {
        return view(entry, entry.array().getGradient()).type();
    }

    private static TensorView view(ParameterTable.Entry entry, NDArray gradient) {
        return TensorView.of(entry.name() + ".gradient", gradient);
    }

    private void divide(DataType type, List<ParameterTable.Entry> entries) {
        List<ParameterTable.Entry> together = new ArrayList<>();
        long bytes = 0;
        for (ParameterTable.Entry entry : entries) {
            long more = space(type, entry);
            if (!together.isEmpty() && bytes + more > capacity) {
                addBucket(type, together, bytes);
                together.clear();
                bytes = 0;
            }
            together.add(entry);
            bytes += more;
        }
        addBucket(type, together, bytes);
    }

    /** Returns the bytes of a gradient and the gap after it. Each gradient begins a block of the wire formats. */
    private static long space(DataType type, ParameterTable.Entry entry) {
        long block = (long) WireFormat.BLOCK * type.bytes();
        long bytes = entry.array().size() * type.bytes();
        return Math.max(1, (bytes + block - 1) / block) * block;
    }

    private void addBucket(DataType type, List<ParameterTable.Entry> entries, long bytes) {
        HostBuffer memory = HostBuffer.allocate(bytes);
        buckets.add(new Bucket(type, memory));
        long offset = 0;
        for (ParameterTable.Entry entry : entries) {
            int size = Math.toIntExact(entry.array().size() * type.bytes());
            places.add(new Place(entry, memory, offset, size));
            offset += space(type, entry);
        }
    }

    /**
     * Ensures that the gradient's elements are in its place. Returns the gradient if it could not move there, so that the
     * average must be copied back; else null.
     */
    private static @Nullable TensorView fill(Place place) {
        NDArray gradient = place.entry().array().getGradient();
        TensorView before = view(place.entry(), gradient);
        if (isAt(before, place)) {
            return null;
        }
        place.view().put(before.bytes());
        if (before.isCopy()) {
            return before;
        }
        gradient.set(place.view()); // PyTorch's engine makes a direct buffer the memory of the tensor
        return isAt(view(place.entry(), gradient), place) ? null : before;
    }

    private static boolean isAt(TensorView view, Place place) {
        return !view.isCopy() && DataBuffer.of(view.bytes()).address() == place.address();
    }

    private void compensate(Place place) {
        if (compression == null || compression.equals(WireFormat.EXACT)) {
            return;
        }
        NDArray array = place.entry().array();
        switch (array.getDataType()) {
            case FLOAT32 -> errors(array).compensate(place.view().asFloatBuffer());
            case FLOAT64 -> errors(array).compensate(place.view().asDoubleBuffer());
            default -> {} // travels as it is
        }
    }

    private ErrorFeedback errors(NDArray array) {
        return feedback.computeIfAbsent(array, key -> new ErrorFeedback(compression));
    }

    /** Drops the rounding errors that were not sent yet. */
    void forgetErrors() {
        feedback.clear();
    }
}
