package io.jccl.spark;

/**
 * What an optimiser has found; the same bits on all ranks.
 *
 * @param weights where the objective is smallest
 * @param values the objective at the start and after each iteration
 * @param converged whether the tolerance was reached, and not the limit of iterations
 */
@SuppressWarnings("ArrayRecordComponent") // results are handed over, not compared
public record Minimum(double[] weights, double[] values, boolean converged) {

    /** How many iterations there were. */
    public int iterations() {
        return values.length - 1;
    }

    /** The objective at {@link #weights()}. */
    public double value() {
        return values[values.length - 1];
    }
}
