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
 * Binary logistic regression with an L2 penalty, which trains the same model as MLlib's {@link LogisticRegression}.
 * Objective, standardisation and intercept are the same, and {@link Lbfgs} minimises the objective on all ranks to the
 * same point.
 *
 * <p>Training uses an MLlib estimator's {@code featuresCol}, {@code labelCol}, {@code regParam}, {@code fitIntercept},
 * {@code standardization}, {@code maxIter} and {@code tol}; {@link Lbfgs} defines how the tolerance applies. The model
 * has the estimator's columns and thresholds. An estimator with an L1 penalty, a weight column, bounds, or the
 * multinomial family is refused.
 *
 * <p>Immutable; for use on the driver.
 */
public final class JcclLogisticRegression implements Serializable {

    private static final long serialVersionUID = 1L;

    private final transient LogisticRegression estimator; // for use on the driver
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
     * The result of training.
     *
     * @param model MLlib's model, to transform rows with or to save
     * @param minimum how the optimiser found the model: the coefficients followed by the intercept, and the objective
     *     by iteration
     */
    public record Fit(LogisticRegressionModel model, Minimum minimum) {}

    /**
     * Returns a regression with the parameters of an MLlib estimator.
     *
     * @throws IllegalArgumentException if the estimator sets a parameter that this class does not support
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
     * Trains a model. If the job fails, this throws Spark's {@code SparkException} with the error of a rank, for
     * example a bad label.
     *
     * @param rows rows with one partition for each rank, {@code rows.repartition(n)}; labels 0 and 1, and feature
     *     vectors of one size
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

    /** Returns the model, with the estimator's parameters that predictions need. */
    private LogisticRegressionModel model(double[] weights) {
        int size = weights.length - 1;
        LogisticRegressionModel model = new LogisticRegressionModel(
                estimator.uid(), Vectors.dense(Arrays.copyOf(weights, size)), weights[size]);
        return estimator.copyValues(model.setParent(estimator), ParamMap.empty());
    }

    /**
     * Trains as one rank. Rank 0 returns the minimum in the rows' own units, with the intercept last; others return
     * nothing.
     */
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
