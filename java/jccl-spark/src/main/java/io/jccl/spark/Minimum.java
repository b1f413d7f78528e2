package io.jccl.spark;

import java.io.Serializable;

/** The result of an optimiser, with the same bits on all ranks. Any serializer of Spark can write it. */
public final class Minimum implements Serializable {

    private static final long serialVersionUID = 1L;

    private final double[] weights;
    private final double[] values;
    private final boolean converged;

    Minimum(double[] weights, double[] values, boolean converged) {
        this.weights = weights;
        this.values = values;
        this.converged = converged;
    }

    /** Returns the weights at which the objective is smallest; not a copy. */
    public double[] weights() {
        return weights;
    }

    /** Returns the objective at the start and after each iteration; not a copy. */
    public double[] values() {
        return values;
    }

    /** Returns the objective at {@link #weights()}. */
    public double value() {
        return values[values.length - 1];
    }

    /** Returns the number of iterations. */
    public int iterations() {
        return values.length - 1;
    }

    /** Returns true if the gradient has become as small as the tolerance asks. */
    public boolean converged() {
        return converged;
    }
}
