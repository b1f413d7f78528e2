package io.jccl.tuning;

import java.util.Arrays;

/**
 * Linear equations that are to hold as well as can be: the unknowns with the least sum of squared errors, none of them
 * negative. An unknown that would come out negative is zero, and the others are solved for again.
 */
final class LeastSquares {

    private final int unknowns;
    private final double[][] matrix;
    private final double[] right;

    LeastSquares(int unknowns) {
        this.unknowns = unknowns;
        this.matrix = new double[unknowns][unknowns];
        this.right = new double[unknowns];
    }

    /** Adds the equation {@code sum(row[i] * unknown[i]) = value}. */
    void add(double[] row, double value) {
        for (int i = 0; i < unknowns; i++) {
            for (int j = 0; j < unknowns; j++) {
                matrix[i][j] += row[i] * row[j];
            }
            right[i] += row[i] * value;
        }
    }

    /** The largest factor that the equations so far have together, to measure others by. */
    double scale() {
        double largest = 0;
        for (int i = 0; i < unknowns; i++) {
            largest = Math.max(largest, matrix[i][i]);
        }
        return Math.sqrt(largest);
    }

    /** The unknowns; those that no equation says anything about are zero. */
    double[] solve() {
        boolean[] fixed = new boolean[unknowns];
        while (true) {
            double[] solution = eliminate(fixed);
            int lowest = 0;
            for (int i = 1; i < unknowns; i++) {
                lowest = solution[i] < solution[lowest] ? i : lowest;
            }
            if (solution[lowest] >= 0) {
                return solution;
            }
            fixed[lowest] = true;
        }
    }

    /** Gauss-Jordan elimination over the unknowns that are not fixed at zero; the matrix is symmetric, its diagonal serves. */
    private double[] eliminate(boolean[] fixed) {
        double[][] rows = new double[unknowns][];
        for (int i = 0; i < unknowns; i++) {
            rows[i] = Arrays.copyOf(matrix[i], unknowns + 1);
            rows[i][unknowns] = right[i];
        }
        boolean[] done = new boolean[unknowns];
        for (int round = 0; round < unknowns; round++) {
            int pivot = pivot(rows, fixed, done);
            if (pivot < 0) {
                break;
            }
            done[pivot] = true;
            for (int i = 0; i < unknowns; i++) {
                double factor = i == pivot ? 0 : rows[i][pivot] / rows[pivot][pivot];
                for (int j = 0; j <= unknowns && factor != 0; j++) {
                    rows[i][j] -= factor * rows[pivot][j];
                }
            }
        }
        double[] solution = new double[unknowns];
        for (int i = 0; i < unknowns; i++) {
            solution[i] = done[i] ? rows[i][unknowns] / rows[i][i] : 0;
        }
        return solution;
    }

    private int pivot(double[][] rows, boolean[] fixed, boolean[] done) {
        int best = -1;
        for (int i = 0; i < unknowns; i++) {
            boolean open = !fixed[i] && !done[i] && rows[i][i] > matrix[i][i] * 1e-12;
            if (open && (best < 0 || rows[i][i] > rows[best][best])) {
                best = i;
            }
        }
        return best;
    }
}
