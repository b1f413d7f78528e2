package io.jccl.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** An application of two ranks that {@code spark-submit} starts. The argument {@code kill} has rank 1 kill its first executor. */
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
        System.exit(0); // Spark 3.5 keeps a local master's process alive by the timer of its barriers
    }
}
