package io.jccl.spark;

import io.jccl.DataType;
import io.jccl.HostBuffer;
import java.io.Serializable;
import java.nio.DoubleBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.ml.classification.LogisticRegression;
import org.apache.spark.ml.classification.LogisticRegressionModel;
import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Measures training with JCCL against Spark's {@code treeAggregate} or MLlib, on two executors of this host. Prints
 * tables in Markdown.
 *
 * <p>Arguments: {@code aggregate [DOUBLES...]} or {@code mllib [ROWS FEATURES NONZEROS]}.
 */
public final class SparkBenchmark {

    private static final int ROUNDS = 3;
    private static final int RANKS = 2;
    private static final int ROWS = 2_000; // of each rank
    private static final int NONZEROS = 20; // of each row
    private static final double RATE = 0.01;

    private static final double PENALTY = 1e-4;
    private static final int FEW = 5; // iterations of L-BFGS
    private static final int MANY = 25;

    /** By shape: the number of rows, of features, and of features of a row that are not 0. */
    private static final int[][] SHAPES = {{40_000, 100, 100}, {10_000, 1_000, 1_000}, {10_000, 100_000, 50}};

    private SparkBenchmark() {}

    /** Runs the comparison that the first argument names. */
    public static void main(String[] args) {
        String what = args.length == 0 ? "" : args[0];
        if (!what.equals("aggregate") && !what.equals("mllib")) {
            throw new IllegalArgumentException("what=" + what + ": expected aggregate or mllib");
        }
        SparkHome.make(true);
        SparkSession session = SparkSession.builder()
                .master("local-cluster[2,1,3072]")
                .config("spark.executor.memory", "3g")
                .config("spark.driver.maxResultSize", "2g")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", String.valueOf(RANKS))
                .config("spark.jccl.barrier.slotsTimeout", "60s")
                .getOrCreate();
        int[] numbers = Arrays.stream(args).skip(1).mapToInt(Integer::parseInt).toArray();
        if (what.equals("aggregate")) {
            JavaSparkContext spark = new JavaSparkContext(session.sparkContext());
            aggregate(spark, numbers.length == 0 ? new int[] {1_000, 100_000, 1_000_000, 10_000_000} : numbers);
        } else {
            mllib(session, numbers.length == 0 ? SHAPES : new int[][] {numbers});
        }
        session.stop();
        System.exit(0); // the timer of Spark's barriers keeps the process alive
    }

    /** Sparse rows of one partition and their labels; computes the gradient of the logistic loss over them. */
    private static final class SparseRows implements Serializable {

        private static final long serialVersionUID = 1L;

        private final int[][] indices = new int[ROWS][NONZEROS];
        private final double[] labels = new double[ROWS];

        SparseRows(int partition, int weights) {
            Random random = new Random(partition);
            for (int i = 0; i < ROWS; i++) {
                Arrays.setAll(indices[i], j -> random.nextInt(weights));
                labels[i] = random.nextInt(2);
            }
        }

        void addGradient(double[] weights, DoubleBuffer gradient) {
            for (int i = 0; i < ROWS; i++) {
                double margin = 0;
                for (int j : indices[i]) {
                    margin += weights[j];
                }
                double error = 1 / (1 + Math.exp(-margin)) - labels[i];
                for (int j : indices[i]) {
                    gradient.put(j, gradient.get(j) + error);
                }
            }
        }
    }

    /** Prints the median time of an iteration of gradient descent, without the first two of each run. */
    private static void aggregate(JavaSparkContext spark, int[] sizes) {
        System.out.println("| doubles | treeAggregate | `double[]` | `HostBuffer` |\n|---:|---:|---:|---:|");
        for (int size : sizes) {
            int iterations = size < 1_000_000 ? 30 : size < 10_000_000 ? 12 : 6;
            Map<String, List<Long>> nanos = new LinkedHashMap<>();
            for (int round = 0; round < ROUNDS; round++) {
                treeAggregate(spark, size, iterations).forEach(time -> put(nanos, "tree", time));
                allReduce(spark, size, iterations, false).forEach(time -> put(nanos, "heap", time));
                allReduce(spark, size, iterations, true).forEach(time -> put(nanos, "shared", time));
            }
            double tree = medianMillis(nanos.get("tree"));
            double heap = medianMillis(nanos.get("heap"));
            double shared = medianMillis(nanos.get("shared"));
            System.out.printf(
                    "| %,d | %.1f ms | %.2f ms, %.0f× | %.2f ms, %.0f× |%n",
                    size, tree, heap, tree / heap, shared, tree / shared);
        }
    }

    private static double medianMillis(List<Long> nanos) {
        return nanos.stream().sorted().skip(nanos.size() / 2).findFirst().orElseThrow() / 1e6;
    }

    private static List<Long> treeAggregate(JavaSparkContext spark, int size, int iterations) {
        JavaRDD<SparseRows> rows =
                Ranks.numbers(spark, RANKS).map(i -> new SparseRows(i, size)).cache();
        rows.count();
        double[] weights = new double[size];
        List<Long> nanos = new ArrayList<>();
        for (int i = 0; i < iterations; i++) {
            long begin = System.nanoTime();
            Broadcast<double[]> shared = spark.broadcast(weights);
            double[] gradient = rows.treeAggregate(
                    new double[0],
                    (sum, part) -> {
                        double[] to = sum.length == 0 ? new double[size] : sum;
                        part.addGradient(shared.value(), DoubleBuffer.wrap(to));
                        return to;
                    },
                    SparkBenchmark::add);
            weights = step(weights.clone(), DoubleBuffer.wrap(gradient));
            shared.destroy();
            nanos.add(System.nanoTime() - begin);
        }
        rows.unpersist(true);
        return nanos.subList(2, iterations);
    }

    private static double[] add(double[] to, double[] other) {
        if (to.length == 0 || other.length == 0) {
            return to.length == 0 ? other : to;
        }
        for (int i = 0; i < to.length; i++) {
            to[i] += other[i];
        }
        return to;
    }

    private static double[] step(double[] weights, DoubleBuffer gradient) {
        for (int i = 0; i < weights.length; i++) {
            weights[i] -= RATE * gradient.get(i);
        }
        return weights;
    }

    private static List<Long> allReduce(JavaSparkContext spark, int size, int iterations, boolean shared) {
        List<Long> nanos = JcclBarrier.mapPartitions(
                        Ranks.numbers(spark, RANKS),
                        (comm, partition) ->
                                descend(JcclAggregate.over(comm), partition.next(), size, iterations, shared))
                .collect();
        return nanos.subList(2, iterations);
    }

    /** Runs gradient descent and returns the times of rank 0's iterations; other ranks return nothing. */
    private static Iterator<Long> descend(JcclAggregate all, int partition, int size, int iterations, boolean shared) {
        SparseRows rows = new SparseRows(partition, size);
        double[] zeros = new double[size];
        double[] weights = new double[size];
        double[] heap = new double[size];
        List<Long> nanos = new ArrayList<>();
        try (HostBuffer memory = HostBuffer.allocate((long) size * Double.BYTES)) {
            DoubleBuffer gradient = shared ? memory.asDoubleBuffer(0, size) : DoubleBuffer.wrap(heap);
            for (int i = 0; i < iterations; i++) {
                long begin = System.nanoTime();
                gradient.put(0, zeros);
                rows.addGradient(weights, gradient);
                if (shared) {
                    all.sum(memory, DataType.FLOAT64);
                } else {
                    all.sum(heap);
                }
                step(weights, gradient);
                nanos.add(System.nanoTime() - begin);
            }
        }
        return all.communicator().rank() == 0 ? nanos.iterator() : Collections.emptyIterator();
    }

    /**
     * Prints the times of MLlib and JCCL for L-BFGS on the same cached rows: of an iteration, and of the whole
     * training.
     */
    private static void mllib(SparkSession session, int[][] shapes) {
        System.out.println(
                "| rows | features | non-zeros | MLlib, iteration | JCCL, iteration | ratio | MLlib, training "
                        + "| JCCL, training |\n|---:|---:|---:|---:|---:|---:|---:|---:|");
        for (int[] shape : shapes) {
            Dataset<Row> rows = rows(session, shape[0], shape[1], shape[2]).cache();
            rows.count();
            Map<String, List<Long>> nanos = new LinkedHashMap<>();
            for (int round = 0; round < ROUNDS; round++) {
                long begin = System.nanoTime();
                LogisticRegressionModel few = estimator(FEW).fit(rows);
                long middle = System.nanoTime();
                LogisticRegressionModel many = estimator(MANY).fit(rows);
                long end = System.nanoTime();
                int iterations =
                        many.summary().totalIterations() - few.summary().totalIterations();
                put(nanos, "mllib", (end - middle - (middle - begin)) / iterations);
                put(nanos, "mllib training", end - middle);
                put(nanos, "jccl", nanosOfIteration(rows, shape[1]));
                long start = System.nanoTime();
                JcclLogisticRegression.like(estimator(MANY)).fit(rows);
                put(nanos, "jccl training", System.nanoTime() - start);
            }
            double mllib = medianMillis(nanos.get("mllib"));
            double jccl = medianMillis(nanos.get("jccl"));
            System.out.printf(
                    "| %,d | %,d | %,d | %.1f ms | %.2f ms | %.0f× | %.1f s | %.1f s |%n",
                    shape[0],
                    shape[1],
                    shape[2],
                    mllib,
                    jccl,
                    mllib / jccl,
                    medianMillis(nanos.get("mllib training")) / 1000,
                    medianMillis(nanos.get("jccl training")) / 1000);
            rows.unpersist(true);
        }
    }

    private static void put(Map<String, List<Long>> nanos, String what, long value) {
        nanos.computeIfAbsent(what, key -> new ArrayList<>()).add(value);
    }

    private static LogisticRegression estimator(int iterations) {
        return new LogisticRegression().setRegParam(PENALTY).setTol(0).setMaxIter(iterations);
    }

    /**
     * Returns the time of an iteration of JCCL. Rank 0 measures it inside the stage, because the time that a stage
     * takes to start varies by more than all iterations take together.
     */
    private static long nanosOfIteration(Dataset<Row> rows, int features) {
        return JcclBarrier.mapPartitions(rows.select("features", "label").toJavaRDD(), (comm, mine) -> {
                    JcclAggregate all = JcclAggregate.over(comm);
                    LogisticLoss loss = LogisticLoss.of(all, LabeledRows.read(mine), features, true, PENALTY, true);
                    long begin = System.nanoTime();
                    Minimum minimum = new Lbfgs(MANY, 0).minimize(all, loss, loss.start());
                    return List.of((System.nanoTime() - begin) / minimum.iterations())
                            .iterator();
                })
                .collect()
                .get(0);
    }

    /** Returns rows with {@code nonzeros} random features and with labels drawn by a logistic model. */
    private static Dataset<Row> rows(SparkSession session, int count, int features, int nonzeros) {
        List<Long> numbers = LongStream.range(0, count).boxed().collect(Collectors.toList());
        JavaRDD<Row> rows = new JavaSparkContext(session.sparkContext())
                .parallelize(numbers, RANKS)
                .map(number -> row(number, features, nonzeros));
        StructType columns =
                new StructType().add("label", DataTypes.DoubleType).add("features", SQLDataTypes.VectorType());
        return session.createDataFrame(rows, columns);
    }

    private static Row row(long number, int features, int nonzeros) {
        Random random = new Random(number);
        double[] values = random.doubles(nonzeros, -1, 1).toArray();
        int[] indices = nonzeros == features
                ? IntStream.range(0, features).toArray()
                : random.ints(0, features).distinct().limit(nonzeros).sorted().toArray();
        double margin = 0;
        for (int i = 0; i < nonzeros; i++) {
            margin += values[i] * (indices[i] % 7 - 3);
        }
        double label = random.nextDouble() < 1 / (1 + Math.exp(-margin)) ? 1 : 0;
        return RowFactory.create(
                label, nonzeros == features ? Vectors.dense(values) : Vectors.sparse(features, indices, values));
    }
}
