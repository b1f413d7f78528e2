package io.jccl.spark;

import java.util.Arrays;

/**
 * Gradient descent on all ranks: each has the same weights, and takes the same step at the same time. One all-reduce for each
 * iteration.
 */
public final class GradientDescent {

    private final double rate;
    private final int maxIterations;
    private final double tolerance;

    /**
     * Sets the limits.
     *
     * @param rate the weights change by it times the gradient; more than 0
     * @param maxIterations the most iterations, 0 or more
     * @param tolerance ends where no element of the gradient is larger than it times {@code max(1, |value|)}; 0 or more
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
     * Minimises an objective. All ranks call this.
     *
     * @param all sums over the ranks
     * @param objective the same function of the weights on all ranks, each with its own rows
     * @param start the weights to start with, as many on all ranks; those of rank 0 are used
     * @return the same bits on all ranks
     * @throws ArithmeticException if the objective or its gradient becomes infinite or no number; on all ranks
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
