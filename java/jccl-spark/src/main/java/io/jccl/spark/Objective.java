package io.jccl.spark;

/**
 * A function of weights that the ranks minimise together. It is the sum of a part for each rank, which depends on the
 * rank's rows, and of one part that all ranks know, such as a penalty.
 */
@FunctionalInterface
public interface Objective {

    /**
     * Evaluates this rank's part. The optimiser sums it over all ranks.
     *
     * @param weights where to evaluate, with the same bits on all ranks; must not be changed
     * @param gradient zero at the call; add the gradient of this rank's part to it
     * @return the value of this rank's part
     */
    double local(double[] weights, double[] gradient);

    /**
     * Evaluates the part that all ranks know. Every rank evaluates it, and it is added once, so it must give the same
     * bits on all ranks.
     *
     * @param weights where to evaluate; must not be changed
     * @param gradient the sum of the ranks' parts at the call; add the gradient of this part to it
     * @return the value of this part
     */
    default double shared(double[] weights, double[] gradient) {
        return 0;
    }
}
