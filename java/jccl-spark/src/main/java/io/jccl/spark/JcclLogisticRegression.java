package io.jccl.spark;

import io.jccl.Communicator;
import io.jccl.ReduceOp;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.ml.classification.LogisticRegression;
import org.apache.spark.ml.classification.LogisticRegressionModel;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Binary logistic regression with an L2 penalty that gives the model of MLlib's {@link LogisticRegression}: the same objective,
 * standardisation and intercept, minimised to the same point by {@link Lbfgs} on all ranks.
 *
 * <p>It trains by an MLlib estimator's {@code featuresCol}, {@code labelCol}, {@code regParam}, {@code fitIntercept}, {@code
 * standardization}, {@code maxIter} and {@code tol}; the tolerance is that of {@link Lbfgs}. The model has the estimator's columns
 * and thresholds. An estimator with an L1 penalty, a weight column, bounds, or the multinomial family is refused.
 *
 * <p>Immutable; for use on the driver.
 */
public final class JcclLogisticRegression implements Serializable {

    private static final long serialVersionUID = 1L;

    private final transient LogisticRegression estimator; // for the driver
    private final String features;
    private final String label;
    private final double penalty;
    private final boolean intercept;
    private final boolean standardization;
    private final int maxIterations;
    private final double tolerance;

    private JcclLogisticRegression(LogisticRegression estimator) {
        this.estimator = estimator;
        this.features = estimator.getFeaturesCol();
        this.label = estimator.getLabelCol();
        this.penalty = estimator.getRegParam();
        this.intercept = estimator.getFitIntercept();
        this.standardization = estimator.getStandardization();
        this.maxIterations = estimator.getMaxIter();
        this.tolerance = estimator.getTol();
    }

    /**
     * What training gives.
     *
     * @param model MLlib's, to transform rows with or to save
     * @param minimum how the optimiser found it: the coefficients and the intercept behind them, and the objective by iteration
     */
    public record Fit(LogisticRegressionModel model, Minimum minimum) {}

    /**
     * Takes the parameters of an MLlib estimator.
     *
     * @throws IllegalArgumentException if it sets a parameter that this class does not know
     */
    public static JcclLogisticRegression like(LogisticRegression estimator) {
        BarrierSettings.required("estimator", estimator, "MLlib's LogisticRegression with its parameters");
        if (estimator.getElasticNetParam() != 0) {
            throw new IllegalArgumentException("elasticNetParam=" + estimator.getElasticNetParam()
                    + ": expected 0, an L2 penalty; use MLlib for L1");
        }
        if (estimator.getFamily().equals("multinomial")) {
            throw new IllegalArgumentException(
                    "family=multinomial: expected auto or binomial; use MLlib for more classes");
        }
        for (String name : List.of(
                "weightCol",
                "lowerBoundsOnCoefficients",
                "upperBoundsOnCoefficients",
                "lowerBoundsOnIntercepts",
                "upperBoundsOnIntercepts")) {
            if (estimator.isSet(estimator.getParam(name))) {
                throw new IllegalArgumentException(name + ": expected to be unset; use MLlib for it");
            }
        }
        return new JcclLogisticRegression(estimator.copy(ParamMap.empty()));
    }

    /**
     * Trains a model. If the job fails, this throws Spark's {@code SparkException} with what a rank reports, for example a bad
     * label.
     *
     * @param rows one partition for each rank, {@code rows.repartition(n)}; labels 0 and 1, and feature vectors of one size
     * @throws IllegalArgumentException as {@link JcclBarrier#mapPartitions(JavaRDD, RankFunction)}
     */
    public Fit fit(Dataset<?> rows) {
        BarrierSettings.required("rows", rows, "rows with a label and a vector of features");
        JcclMetrics metrics = JcclMetrics.register(rows.sparkSession().sparkContext(), "logistic regression");
        JavaRDD<Row> columns = rows.select(new Column(features), new Column(label).cast("double"))
                .toJavaRDD();
        Minimum minimum = JcclBarrier.mapPartitions(
                        columns, (comm, mine) -> train(JcclAggregate.over(comm, metrics), mine))
                .collect()
                .get(0);
        return new Fit(model(minimum.weights()), minimum);
    }

    /** The model, with those of the estimator's parameters that predictions need. */
    private LogisticRegressionModel model(double[] weights) {
        int size = weights.length - 1;
        LogisticRegressionModel model = new LogisticRegressionModel(
                estimator.uid(), Vectors.dense(Arrays.copyOf(weights, size)), weights[size]);
        return estimator.copyValues(model.setParent(estimator), ParamMap.empty());
    }

    /** A rank's work: the minimum, in the rows' own units and with the intercept last, at rank 0. */
    private Iterator<Minimum> train(JcclAggregate all, Iterator<Row> mine) {
        Communicator comm = all.communicator();
        LabeledRows rows = LabeledRows.read(mine);
        int size = (int) comm.allReduce((long) rows.features(), ReduceOp.MAX);
        rows.requireFeatures(size);
        LogisticLoss loss = LogisticLoss.of(all, rows, size, intercept, penalty, standardization);
        Minimum scaled = new Lbfgs(maxIterations, tolerance).minimize(all, loss, loss.start());
        if (comm.rank() != 0) {
            return Collections.emptyIterator();
        }
        return List.of(new Minimum(loss.unscaled(scaled.weights()), scaled.values(), scaled.converged()))
                .iterator();
    }
}
