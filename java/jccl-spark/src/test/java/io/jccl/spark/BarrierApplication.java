package io.jccl.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * An application of two ranks that {@code spark-submit} starts. With the argument {@code kill}, it runs a second stage,
 * in whose first attempt rank 1 kills its executor.
 */
public final class BarrierApplication {

    private BarrierApplication() {}

    /** Prints each rank's result. */
    public static void main(String[] args) {
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::sum)
                    .collect()
                    .forEach(System.out::println);
            if (args.length > 0 && args[0].equals("kill")) {
                JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::sumWithKill)
                        .collect()
                        .forEach(result -> System.out.println("after kill " + result));
            }
        }
        System.exit(0); // the timer of Spark 3.5's barriers keeps the process of a local master alive
    }
}
