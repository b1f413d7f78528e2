package io.jccl.spark;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * L-BFGS (limited-memory BFGS) on all ranks. All ranks have the same weights and the same history, and take the same
 * steps. Each evaluation of the objective needs one all-reduce, and most iterations need one evaluation.
 *
 * <p>The line search bisects until the weak Wolfe conditions hold: the value falls, within rounding, and the slope
 * becomes less steep.
 */
public final class Lbfgs {

    /** Number of steps that the history keeps. */
    private static final int HISTORY = 10;

    private static final double SUFFICIENT_DECREASE = 1e-4;
    private static final double CURVATURE = 0.9;

    /**
     * Relative rounding error of a value. A value that exceeds an earlier one by no more than this share may in truth
     * be smaller, so the line search then decides by the slope alone.
     */
    private static final double ROUNDING = 1e-14;

    private static final int MAX_EVALUATIONS = 60; // enough to halve the step to the precision of a double

    private final int maxIterations;
    private final double tolerance;

    /** A point at which the objective was evaluated. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Point(double[] weights, double value, double[] gradient) {}

    /** The change of weights and gradient in one step. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Step(double[] weights, double[] gradient, double product) {}

    /**
     * Sets the limits.
     *
     * @param maxIterations largest number of iterations, 0 or more
     * @param tolerance minimisation ends when no element of the gradient is larger than this times
     *     {@code max(1, |value|)}; 0 or more
     * @throws IllegalArgumentException if one is out of range
     */
    public Lbfgs(int maxIterations, double tolerance) {
        SummedObjective.requireLimits(maxIterations, tolerance);
        this.maxIterations = maxIterations;
        this.tolerance = tolerance;
    }

    /**
     * Minimises an objective. All ranks must call this.
     *
     * @param all sums over the ranks
     * @param objective the same function of the weights on all ranks, each with its own rows
     * @param start weights to start with, the same number on all ranks; those of rank 0 are used
     * @return the minimum, with the same bits on all ranks; not converged if rounding leaves no smaller value in the
     *     direction of the search
     * @throws ArithmeticException on all ranks, if the objective or its gradient is infinite or NaN at the start
     */
    public Minimum minimize(JcclAggregate all, Objective objective, double[] start) {
        double[] first = SummedObjective.start(all, objective, start);
        SummedObjective sum = new SummedObjective(all, objective, first.length);
        double[] gradient = new double[first.length];
        Point point = new Point(first, sum.evaluate(first, gradient), gradient);
        Deque<Step> history = new ArrayDeque<>();
        double[] values = new double[maxIterations + 1];
        values[0] = point.value;
        int done = 0;
        boolean converged = SummedObjective.isSmall(point.gradient, point.value, tolerance);
        while (!converged && done < maxIterations) {
            double[] direction = direction(point.gradient, history);
            Point next = search(sum, point, direction, done == 0 ? firstStep(point.gradient) : 1);
            if (next == null) {
                break;
            }
            remember(history, point, next);
            point = next;
            done++;
            values[done] = point.value;
            converged = SummedObjective.isSmall(point.gradient, point.value, tolerance);
        }
        return new Minimum(point.weights, Arrays.copyOf(values, done + 1), converged);
    }

    /**
     * Returns the factor of the first step, which moves the weights by at most 1, because the gradient alone does not
     * tell how far to go.
     */
    private static double firstStep(double[] gradient) {
        return Math.min(1, 1 / Math.sqrt(dot(gradient, gradient)));
    }

    /**
     * Returns the direction of the search: minus the gradient times the inverse of the Hessian that the history
     * approximates. It takes two loops over the history.
     */
    private static double[] direction(double[] gradient, Deque<Step> history) {
        double[] direction = gradient.clone();
        double[] alpha = new double[history.size()];
        int i = alpha.length;
        for (Iterator<Step> steps = history.descendingIterator(); steps.hasNext(); ) {
            Step step = steps.next();
            i--;
            alpha[i] = dot(step.weights, direction) / step.product;
            add(direction, -alpha[i], step.gradient);
        }
        double scale = -1;
        if (!history.isEmpty()) {
            Step last = history.getLast();
            scale = -last.product / dot(last.gradient, last.gradient);
        }
        for (int k = 0; k < direction.length; k++) {
            direction[k] *= scale;
        }
        for (Step step : history) {
            double beta = dot(step.gradient, direction) / step.product;
            add(direction, -alpha[i] - beta, step.weights);
            i++;
        }
        return direction;
    }

    /**
     * Returns a point along the direction at which the weak Wolfe conditions hold; null if there is none within
     * rounding.
     */
    private static @Nullable Point search(SummedObjective sum, Point from, double[] direction, double firstStep) {
        double slope = dot(from.gradient, direction);
        if (!(slope < 0)) {
            return null;
        }
        double rounding = ROUNDING * Math.abs(from.value);
        double shortest = 0;
        double longest = Double.POSITIVE_INFINITY;
        double step = firstStep;
        for (int i = 0; i < MAX_EVALUATIONS; i++) {
            double[] weights = from.weights.clone();
            add(weights, step, direction);
            double[] gradient = new double[weights.length];
            double value = sum.evaluate(weights, gradient);
            if (!(value <= from.value + SUFFICIENT_DECREASE * step * slope + rounding)) { // also if the value is NaN
                longest = step;
            } else if (dot(gradient, direction) < CURVATURE * slope) {
                shortest = step;
            } else {
                return new Point(weights, value, gradient);
            }
            step = longest < Double.POSITIVE_INFINITY ? (shortest + longest) / 2 : 2 * step;
        }
        return null;
    }

    private static void remember(Deque<Step> history, Point from, Point to) {
        double[] weights = to.weights.clone();
        add(weights, -1, from.weights);
        double[] gradient = to.gradient.clone();
        add(gradient, -1, from.gradient);
        double product = dot(weights, gradient);
        if (product > 0) { // near the minimum, rounding can make it negative
            if (history.size() == HISTORY) {
                history.removeFirst();
            }
            history.addLast(new Step(weights, gradient, product));
        }
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    /** Adds a multiple of a vector to another. */
    private static void add(double[] to, double factor, double[] vector) {
        for (int i = 0; i < to.length; i++) {
            to[i] += factor * vector[i];
        }
    }
}
