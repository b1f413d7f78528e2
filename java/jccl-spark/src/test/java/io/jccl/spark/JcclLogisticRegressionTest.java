package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkException;
import org.apache.spark.ml.classification.LogisticRegression;
import org.apache.spark.ml.classification.LogisticRegressionModel;
import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the models that MLlib and JCCL train on the same rows. */
class JcclLogisticRegressionTest {

    private static final StructType COLUMNS =
            new StructType().add("label", DataTypes.DoubleType).add("features", SQLDataTypes.VectorType());

    private static SparkSession session;
    private static Dataset<Row> dense;
    private static Dataset<Row> sparse;

    @BeforeAll
    static void start() {
        session = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .config("spark.stage.maxConsecutiveAttempts", "1")
                .getOrCreate();
        dense = rows(false);
        sparse = rows(true);
    }

    @AfterAll
    static void stop() {
        session.stop();
    }

    /**
     * Returns rows with noisy labels. Features differ in scale and, in dense rows, in mean; the last one is constant.
     */
    private static Dataset<Row> rows(boolean sparse) {
        Random random = new Random(7);
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < 400; i++) {
            double[] x = new double[8];
            double margin = -0.3;
            for (int j = 0; j < x.length; j++) {
                double normal = sparse && random.nextInt(3) > 0 ? 0 : random.nextGaussian();
                x[j] = j == 7 ? 2 : normal * Math.pow(10, j % 3 - 1) + (sparse ? 0 : j);
                margin += (j % 2 == 0 ? 0.7 : -0.4) * normal;
            }
            Vector vector = sparse ? Vectors.dense(x).toSparse() : Vectors.dense(x);
            rows.add(RowFactory.create(random.nextDouble() < 1 / (1 + Math.exp(-margin)) ? 1.0 : 0.0, vector));
        }
        return session.createDataFrame(rows, COLUMNS).repartition(2).cache();
    }

    @ParameterizedTest
    @CsvSource({
        "false, true, true, 0.01",
        "false, false, true, 0.1",
        "true, true, false, 0.05",
        "true, false, false, 0.02",
    })
    void modelEqualsThatOfMllib(boolean isSparse, boolean standardization, boolean intercept, double penalty) {
        Dataset<Row> rows = (isSparse ? sparse : dense).withColumnRenamed("features", "x");
        LogisticRegression estimator = new LogisticRegression()
                .setFeaturesCol("x")
                .setPredictionCol("guess")
                .setThreshold(0.4)
                .setRegParam(penalty)
                .setStandardization(standardization)
                .setFitIntercept(intercept)
                .setMaxIter(500)
                .setTol(1e-12);

        LogisticRegressionModel expected = estimator.fit(rows);
        JcclLogisticRegression.Fit fit =
                JcclLogisticRegression.like(estimator.setTol(1e-10)).fit(rows);

        assertThat(fit.minimum().converged()).isTrue();
        assertThat(fit.model().intercept()).isCloseTo(expected.intercept(), within(1e-6));
        assertThat(fit.model().coefficients().toArray())
                .containsExactly(expected.coefficients().toArray(), within(1e-6));
        assertThat(fit.model().transform(rows).select("guess").collectAsList())
                .isEqualTo(expected.transform(rows).select("guess").collectAsList());
    }

    @Test
    void rowsThatCannotBeTrainedOnAreReported() {
        JcclLogisticRegression training = JcclLogisticRegression.like(new LogisticRegression());

        assertThatThrownBy(() -> training.fit(rowsOf(row(2, 1), row(0, 1))))
                .isInstanceOf(SparkException.class)
                .hasMessageContaining("label=2.0: expected 0 or 1");
        assertThatThrownBy(() -> training.fit(rowsOf(row(1, 1, 2), row(0, 1))))
                .isInstanceOf(SparkException.class)
                .hasMessageContaining("features=1: expected 2 as in other rows");
        assertThatThrownBy(() -> training.fit(rowsOf(row(1, 1), row(1, 2))))
                .isInstanceOf(SparkException.class)
                .hasMessageContaining("rows=2 positive=2: expected rows of both labels");
    }

    private static Row row(double label, double... features) {
        return RowFactory.create(label, Vectors.dense(features));
    }

    private static Dataset<Row> rowsOf(Row... rows) {
        return session.createDataFrame(List.of(rows), COLUMNS).repartition(1);
    }

    @Test
    void parametersThatOnlyMllibSupportsAreRefused() {
        assertThatThrownBy(() -> JcclLogisticRegression.like(new LogisticRegression().setElasticNetParam(0.5)))
                .hasMessageStartingWith("elasticNetParam=0.5: expected 0");
        assertThatThrownBy(() -> JcclLogisticRegression.like(new LogisticRegression().setFamily("multinomial")))
                .hasMessageStartingWith("family=multinomial");
        assertThatThrownBy(() -> JcclLogisticRegression.like(new LogisticRegression().setWeightCol("weight")))
                .hasMessageStartingWith("weightCol: expected to be unset");
    }
}
