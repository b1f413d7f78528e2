package io.jccl.spark;

import java.util.Arrays;

/**
 * Gradient descent on all ranks, which have the same weights and take the same steps. An iteration needs one
 * all-reduce.
 */
public final class GradientDescent {

    private final double rate;
    private final int maxIterations;
    private final double tolerance;

    /**
     * Sets the limits.
     *
     * @param rate factor of the gradient by which weights change; more than 0
     * @param maxIterations largest number of iterations, 0 or more
     * @param tolerance minimisation ends when no element of the gradient is larger than this times
     *     {@code max(1, |value|)}; 0 or more
     * @throws IllegalArgumentException if one is out of range
     */
    public GradientDescent(double rate, int maxIterations, double tolerance) {
        if (!(rate > 0) || rate == Double.POSITIVE_INFINITY) {
            throw new IllegalArgumentException("rate=" + rate + ": expected more than 0, for example 0.1");
        }
        SummedObjective.requireLimits(maxIterations, tolerance);
        this.rate = rate;
        this.maxIterations = maxIterations;
        this.tolerance = tolerance;
    }

    /**
     * Minimises an objective. All ranks must call this.
     *
     * @param all sums over the ranks
     * @param objective the same function of the weights on all ranks, each with its own rows
     * @param start weights to start with, the same number on all ranks; those of rank 0 are used
     * @return the minimum, with the same bits on all ranks
     * @throws ArithmeticException on all ranks, if the objective or its gradient becomes infinite or NaN
     */
    public Minimum minimize(JcclAggregate all, Objective objective, double[] start) {
        double[] weights = SummedObjective.start(all, objective, start);
        SummedObjective sum = new SummedObjective(all, objective, weights.length);
        double[] gradient = new double[weights.length];
        double[] values = new double[maxIterations + 1];
        values[0] = sum.evaluate(weights, gradient);
        int done = 0;
        boolean converged = SummedObjective.isSmall(gradient, values[0], tolerance);
        while (!converged && done < maxIterations) {
            for (int i = 0; i < weights.length; i++) {
                weights[i] -= rate * gradient[i];
            }
            done++;
            values[done] = sum.evaluate(weights, gradient);
            converged = SummedObjective.isSmall(gradient, values[done], tolerance);
        }
        return new Minimum(weights, Arrays.copyOf(values, done + 1), converged);
    }
}
