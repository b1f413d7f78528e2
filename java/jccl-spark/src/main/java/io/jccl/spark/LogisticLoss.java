package io.jccl.spark;

/**
 * The mean logistic loss of all ranks' rows with an L2 penalty, as a function of the coefficients of standardised
 * features {@code (x - mean) / deviation}, followed by the intercept if it is fitted.
 *
 * <p>MLlib standardises in training even if the penalty does not apply to standardised coefficients. Rows stay as they
 * are; the coefficients are scaled instead.
 */
final class LogisticLoss implements Objective {

    private final LabeledRows rows;
    private final double total; // number of rows of all ranks
    private final double positive; // number of rows of all ranks whose label is 1
    private final double[] means; // of the features; all 0 without an intercept
    private final double[] inverseDeviations; // 0 for a feature that is constant
    private final boolean intercept;
    private final double[] penalties; // for each coefficient

    private LogisticLoss(
            LabeledRows rows,
            double total,
            double positive,
            double[] means,
            double[] inverses,
            boolean intercept,
            double[] penalties) {
        this.rows = rows;
        this.total = total;
        this.positive = positive;
        this.means = means;
        this.inverseDeviations = inverses;
        this.intercept = intercept;
        this.penalties = penalties;
    }

    /**
     * Creates the loss from sums over the rows of all ranks. All ranks must call this.
     *
     * @throws IllegalArgumentException on all ranks, if there are no rows, or only one label
     */
    static LogisticLoss of(
            JcclAggregate all,
            LabeledRows rows,
            int features,
            boolean intercept,
            double penalty,
            boolean standardization) {
        double total = all.sum((double) rows.count());
        double positive = all.sum((double) rows.positive());
        if (positive == 0 || positive == total) {
            throw new IllegalArgumentException("rows=" + (long) total + " positive=" + (long) positive
                    + ": expected rows of both labels, 0 and 1; there is nothing to separate");
        }
        double[] means = means(all, rows, features, total);
        double[] inverses = inverseDeviations(all, rows, means, total);
        double[] penalties = new double[features];
        for (int i = 0; i < features; i++) {
            penalties[i] = standardization ? penalty : penalty * inverses[i] * inverses[i];
        }
        return new LogisticLoss(
                rows, total, positive, intercept ? means : new double[features], inverses, intercept, penalties);
    }

    private static double[] means(JcclAggregate all, LabeledRows rows, int features, double total) {
        double[] means = new double[features];
        for (LabeledRows.LabeledRow row : rows) {
            row.addTo(means, 1);
        }
        all.sum(means);
        for (int i = 0; i < features; i++) {
            means[i] /= total;
        }
        return means;
    }

    /** Returns one over the sample deviation of each feature, computed from the distances to the means. */
    private static double[] inverseDeviations(JcclAggregate all, LabeledRows rows, double[] means, double total) {
        double[] squares = new double[means.length];
        long[] counts = new long[means.length];
        for (LabeledRows.LabeledRow row : rows) {
            row.addSquaredDistances(squares, counts, means);
        }
        for (int i = 0; i < squares.length; i++) {
            squares[i] += (rows.count() - counts[i]) * means[i] * means[i]; // the zeros that sparse vectors leave out
        }
        all.sum(squares);
        double[] inverses = new double[means.length];
        for (int i = 0; i < inverses.length; i++) {
            double deviation = Math.sqrt(squares[i] / (total - 1));
            inverses[i] = deviation > 0 ? 1 / deviation : 0;
        }
        return inverses;
    }

    /**
     * Returns the weights with which MLlib starts: coefficients of 0, and the intercept that predicts the frequency of
     * the label 1.
     */
    double[] start() {
        double[] start = new double[means.length + (intercept ? 1 : 0)];
        if (intercept) {
            start[means.length] = Math.log(positive / (total - positive));
        }
        return start;
    }

    @Override
    public double local(double[] weights, double[] gradient) {
        double[] coefficients = unscaled(weights);
        double constant = coefficients[means.length];
        double[] products = new double[means.length];
        double errors = 0;
        double loss = 0;
        for (LabeledRows.LabeledRow row : rows) {
            double margin = row.dot(coefficients) + constant;
            double exponential = Math.exp(-Math.abs(margin));
            loss += Math.max(margin, 0) - row.label() * margin + Math.log1p(exponential);
            double error = (margin > 0 ? 1 : exponential) / (1 + exponential) - row.label();
            row.addTo(products, error);
            errors += error;
        }
        for (int i = 0; i < means.length; i++) {
            gradient[i] += (products[i] - means[i] * errors) * inverseDeviations[i] / total;
        }
        if (intercept) {
            gradient[means.length] += errors / total;
        }
        return loss / total;
    }

    @Override
    public double shared(double[] weights, double[] gradient) {
        double sum = 0;
        for (int i = 0; i < penalties.length; i++) {
            sum += penalties[i] * weights[i] * weights[i];
            gradient[i] += penalties[i] * weights[i];
        }
        return sum / 2;
    }

    /** Returns the coefficients for the rows' own features, followed by the intercept. */
    double[] unscaled(double[] weights) {
        double[] coefficients = new double[means.length + 1];
        double constant = intercept ? weights[means.length] : 0;
        for (int i = 0; i < means.length; i++) {
            coefficients[i] = weights[i] * inverseDeviations[i];
            constant -= coefficients[i] * means[i];
        }
        coefficients[means.length] = constant;
        return coefficients;
    }
}
