package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.ErrorFeedback;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Moves a trainer's gradients and parameters between ranks. {@link #close} frees its shared memory, which is allocated
 * again when needed.
 */
final class TensorExchange implements AutoCloseable {

    private static final NDIndex ALL = new NDIndex("...");

    private final @Nullable WireFormat compression; // null: gradients travel in the communicator's format
    private final Buckets buckets;
    /** Maps the array of a parameter to the rounding error of its gradient, which the next gradient includes. */
    private final Map<NDArray, ErrorFeedback> feedback = new IdentityHashMap<>();
    /** Arrays of the parameters for which {@link #prepare} has created a gradient. */
    private final Set<NDArray> withGradient = Collections.newSetFromMap(new IdentityHashMap<>());

    TensorExchange(@Nullable WireFormat compression, int bucketBytes) {
        this.compression = compression;
        this.buckets = new Buckets(bucketBytes);
    }

    /** Copies the values of rank 0 to the parameters of all ranks. */
    void broadcast(Communicator comm, Trainer trainer, ParameterTable parameters) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            List<TensorView> views = parameters.initialized().stream()
                    .map(ParameterTable.Entry::view)
                    .toList();
            buckets.broadcast(comm, views);
        }
        prepare(trainer, parameters.trainable());
    }

    /**
     * Makes sure that arrays have a gradient, which is zero at first. Otherwise, for a parameter that a rank's forward
     * pass does not use, the engine returns zeros that are not the parameter's gradient. The average would then be lost
     * on this rank.
     */
    private void prepare(Trainer trainer, List<ParameterTable.Entry> trainable) {
        List<NDArray> missing = trainable.stream()
                .map(ParameterTable.Entry::array)
                .filter(withGradient::add)
                .toList();
        if (missing.isEmpty()) {
            return;
        }
        try (NDScope scope = new NDScope();
                GradientCollector collector = trainer.newGradientCollector()) {
            scope.suppressNotUsedWarning();
            for (NDArray array : missing) {
                // Not mul(0): DJL may free the memory of a constant while the backward pass still reads it.
                collector.backward(array.sub(array).sum());
            }
        }
    }

    /** Averages the gradients of trainable parameters, and the values of statistics, over the ranks. */
    void average(
            Communicator comm,
            Trainer trainer,
            List<ParameterTable.Entry> trainable,
            List<ParameterTable.Entry> statistics) {
        prepare(trainer, trainable);
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            List<TensorView> exact = new ArrayList<>();
            statistics.forEach(entry -> exact.add(entry.view()));
            List<TensorView> gradients = new ArrayList<>();
            for (ParameterTable.Entry entry : trainable) {
                NDArray gradient = entry.array().getGradient();
                TensorView view = TensorView.of(entry.name() + ".gradient", gradient);
                if (isCompressed(view.type())) {
                    compensate(entry, view);
                }
                gradients.add(view);
            }
            WireFormat format = compression == null ? comm.wireFormat() : compression;
            if (format.equals(WireFormat.EXACT)) {
                gradients.addAll(exact); // one operation for all
            } else {
                buckets.allReduce(comm, exact, ReduceOp.AVG, WireFormat.EXACT);
            }
            buckets.allReduce(comm, gradients, ReduceOp.AVG, format);
        }
    }

    private boolean isCompressed(DataType type) {
        return compression != null && !compression.equals(WireFormat.EXACT) && WireFormat.supports(type);
    }

    private void compensate(ParameterTable.Entry entry, TensorView gradient) {
        ErrorFeedback errors = feedback.computeIfAbsent(entry.array(), array -> new ErrorFeedback(compression));
        if (gradient.type() == DataType.FLOAT32) {
            errors.compensate(gradient.bytes().asFloatBuffer());
        } else {
            errors.compensate(gradient.bytes().asDoubleBuffer());
        }
    }

    /** Sets the gradients to zero, and drops the rounding errors that were not sent yet. */
    void discard(List<ParameterTable.Entry> trainable) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            trainable.forEach(entry -> entry.array().getGradient().set(ALL, 0));
        }
        feedback.clear();
    }

    @Override
    public void close() {
        buckets.close();
    }
}
