package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import io.jccl.Communicator;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Moves a trainer's gradients and parameters between ranks. {@link #close} frees its shared memory, which is allocated
 * again when needed.
 */
final class TensorExchange implements AutoCloseable {

    private static final float MAX_FLOAT16 = 65504;
    private static final NDIndex ALL = new NDIndex("...");

    private final Compression compression;
    private final Buckets buckets;
    /** Maps the array of a parameter to the rounding error of its gradient, which the next gradient includes. */
    private final Map<NDArray, NDArray> residuals = new IdentityHashMap<>();
    /** Arrays of the parameters for which {@link #prepare} has created a gradient. */
    private final Set<NDArray> withGradient = Collections.newSetFromMap(new IdentityHashMap<>());

    TensorExchange(Compression compression, int bucketBytes) {
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
            List<TensorView> averaged = new ArrayList<>();
            List<TensorView> exact = new ArrayList<>();
            statistics.forEach(entry -> exact.add(entry.view()));
            List<Compressed> compressed = new ArrayList<>();
            for (ParameterTable.Entry entry : trainable) {
                NDArray gradient = entry.array().getGradient();
                if (isCompressed(gradient)) {
                    compressed.add(compress(comm, trainer.getManager(), entry, gradient));
                } else {
                    averaged.add(TensorView.of(entry.name() + ".gradient", gradient));
                }
            }
            if (comm.wireFormat().equals(WireFormat.EXACT)) {
                averaged.addAll(exact); // one operation for all
            } else {
                buckets.allReduce(comm, exact, ReduceOp.AVG, WireFormat.EXACT);
            }
            buckets.allReduce(comm, averaged, ReduceOp.AVG, comm.wireFormat());
            buckets.allReduce(comm, compressed.stream().map(Compressed::view).toList(), ReduceOp.SUM, WireFormat.EXACT);
            compressed.forEach(Compressed::decompress);
        }
    }

    /** A gradient, and the compressed tensor that travels in its place. */
    private record Compressed(NDArray gradient, NDArray sent, TensorView view) {

        void decompress() {
            gradient.set(ALL, sent.toType(gradient.getDataType(), true));
        }
    }

    private boolean isCompressed(NDArray gradient) {
        return compression != Compression.NONE
                && (gradient.getDataType() == DataType.FLOAT32 || gradient.getDataType() == DataType.FLOAT64);
    }

    private Compressed compress(Communicator comm, NDManager manager, ParameterTable.Entry entry, NDArray gradient) {
        NDArray exact = gradient.div(comm.size()); // so that the sum over ranks stays in range
        NDArray residual = residuals.get(entry.array());
        if (residual != null) {
            exact.addi(residual);
        }
        NDArray sent = exact.clip(-MAX_FLOAT16, MAX_FLOAT16).toType(DataType.FLOAT16, true);
        NDArray rest = exact.sub(sent.toType(gradient.getDataType(), true));
        NDScope.unregister(rest);
        rest.attach(manager);
        residuals.put(entry.array(), rest);
        if (residual != null) {
            residual.close();
        }
        return new Compressed(gradient, sent, TensorView.of(entry.name() + ".gradient", sent));
    }

    /** Sets the gradients to zero, and drops the rounding errors that were not sent yet. */
    void discard(List<ParameterTable.Entry> trainable) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            trainable.forEach(entry -> entry.array().getGradient().set(ALL, 0));
        }
        residuals.values().forEach(NDArray::close);
        residuals.clear();
    }

    @Override
    public void close() {
        buckets.close();
    }
}
