package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import io.jccl.Communicator;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Moves a trainer's gradients and parameters between ranks. {@link #close} frees the shared memory for parameters and
 * statistics, which is allocated again when needed.
 */
final class TensorExchange implements AutoCloseable {

    private static final NDIndex ALL = new NDIndex("...");

    private final @Nullable WireFormat compression; // null: gradients travel in the communicator's format
    private final Buckets buckets;
    private final GradientBuckets gradients;
    /** Arrays of the parameters for which {@link #prepare} has created a gradient. */
    private final Set<NDArray> withGradient = Collections.newSetFromMap(new IdentityHashMap<>());

    TensorExchange(@Nullable WireFormat compression, int bucketBytes) {
        this.compression = compression;
        this.buckets = new Buckets(bucketBytes);
        this.gradients = new GradientBuckets(bucketBytes, compression);
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
            List<TensorView> exact =
                    statistics.stream().map(ParameterTable.Entry::view).toList();
            buckets.allReduce(comm, exact, ReduceOp.AVG, WireFormat.EXACT);
            gradients.average(comm, trainable, compression == null ? comm.wireFormat() : compression);
        }
    }

    /** Sets the gradients to zero, and drops the rounding errors that were not sent yet. */
    void discard(List<ParameterTable.Entry> trainable) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            trainable.forEach(entry -> entry.array().getGradient().set(ALL, 0));
        }
        gradients.forgetErrors();
    }

    @Override
    public void close() {
        buckets.close();
    }
}
