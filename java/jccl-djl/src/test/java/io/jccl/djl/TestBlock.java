package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;

/** A block with one input and one output; the output has {@link Training#CLASSES} columns. */
abstract class TestBlock extends AbstractBlock {

    private ParameterStore parameters;

    abstract NDArray forward(NDArray input);

    /** Sets the arrays of parameters that have no initializer. */
    void makeParameters(NDManager manager) {}

    @Override
    public final void initialize(NDManager manager, DataType type, Shape... inputs) {
        makeParameters(manager);
        super.initialize(manager, type, inputs);
    }

    final Parameter parameter(String name) {
        return addParameter(
                Parameter.builder().setName(name).setType(Parameter.Type.OTHER).build());
    }

    final ParameterStore parameters() {
        return parameters;
    }

    @Override
    protected final NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        parameters = store;
        return new NDList(forward(inputs.singletonOrThrow()));
    }

    @Override
    public final Shape[] getOutputShapes(Shape[] inputs) {
        return new Shape[] {new Shape(inputs[0].get(0), Training.CLASSES)};
    }
}
