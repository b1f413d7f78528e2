package io.jccl.spark;

/**
 * A function of weights that the ranks minimise together: the sum of a part of each rank, which depends on its rows, and of one
 * part that all ranks know, such as a penalty.
 */
@FunctionalInterface
public interface Objective {

    /**
     * This rank's part. The optimiser sums it over all ranks.
     *
     * @param weights where to evaluate; the same bits on all ranks; only read
     * @param gradient add the gradient of this rank's part to it; zero at the call
     * @return the value of this rank's part
     */
    double local(double[] weights, double[] gradient);

    /**
     * The part that all ranks know. It is evaluated on every rank and added once; it must give the same bits on all of them.
     *
     * @param weights where to evaluate; only read
     * @param gradient add the gradient of this part to it; holds the sum of the ranks' parts at the call
     * @return the value of this part
     */
    default double shared(double[] weights, double[] gradient) {
        return 0;
    }
}
