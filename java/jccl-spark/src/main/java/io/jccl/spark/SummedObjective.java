package io.jccl.spark;

import io.jccl.DataBuffer;
import io.jccl.WireFormat;
import java.util.Arrays;

/**
 * An objective that is summed over all ranks, with one all-reduce for its value and gradient together. If the
 * communicator rounds between hosts, only the gradient is rounded, and the value has an all-reduce of its own.
 */
final class SummedObjective {

    private final JcclAggregate all;
    private final Objective objective;
    private final double[] sums; // the gradient, followed by the value
    private final int weights;

    SummedObjective(JcclAggregate all, Objective objective, int weights) {
        this.all = all;
        this.objective = objective;
        this.weights = weights;
        this.sums = new double[weights + 1];
    }

    /** Checks the arguments of an optimiser; returns rank 0's weights on all ranks. */
    static double[] start(JcclAggregate all, Objective objective, double[] start) {
        BarrierSettings.required("all", all, "JcclAggregate.over(comm)");
        BarrierSettings.required("objective", objective, "the function to minimise");
        double[] weights = BarrierSettings.required("start", start, "the weights to start with")
                .clone();
        all.communicator()
                .broadcast(DataBuffer.of(weights), 0, WireFormat.EXACT)
                .await();
        return weights;
    }

    /** Returns the value at the weights, and writes its gradient. */
    double evaluate(double[] at, double[] gradient) {
        Arrays.fill(gradient, 0);
        double local = objective.local(at, gradient);
        if (all.communicator().wireFormat().encoding() != WireFormat.Encoding.EXACT) {
            double value = all.sumGradient(gradient, local);
            return value + objective.shared(at, gradient);
        }
        System.arraycopy(gradient, 0, sums, 0, weights);
        sums[weights] = local;
        all.sum(sums);
        System.arraycopy(sums, 0, gradient, 0, weights);
        return sums[weights] + objective.shared(at, gradient);
    }

    /**
     * Returns true if the largest element of the gradient is small relative to the value.
     *
     * @throws ArithmeticException if the value or the gradient is infinite or NaN
     */
    static boolean isSmall(double[] gradient, double value, double tolerance) {
        double largest = 0;
        for (double element : gradient) {
            largest = Math.max(largest, Math.abs(element)); // NaN if an element is NaN
        }
        if (!Double.isFinite(value) || !Double.isFinite(largest)) {
            throw new ArithmeticException("value=" + value + " gradient=" + largest
                    + ": expected finite numbers; check the rows, or start elsewhere or with a smaller rate");
        }
        return largest <= tolerance * Math.max(1, Math.abs(value));
    }

    static void requireLimits(int maxIterations, double tolerance) {
        if (maxIterations < 0) {
            throw new IllegalArgumentException("maxIterations=" + maxIterations + ": expected 0 or more");
        }
        if (!(tolerance >= 0) || tolerance == Double.POSITIVE_INFINITY) {
            throw new IllegalArgumentException("tolerance=" + tolerance
                    + ": expected 0 or more, the largest element of the gradient relative to the value");
        }
    }
}
