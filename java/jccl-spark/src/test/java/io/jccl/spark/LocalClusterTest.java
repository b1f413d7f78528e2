package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of barrier stages on two executors, which are separate processes. */
@Timeout(240)
class LocalClusterTest {

    private static JavaSparkContext spark;

    @BeforeAll
    static void start() {
        SparkHome.make(true);
        spark = new JavaSparkContext(new SparkConf()
                .setMaster("local-cluster[2,1,1024]")
                .setAppName("local-cluster")
                .set("spark.ui.enabled", "false")
                .set("spark.executor.memory", "512m")
                .set("spark.executor.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
                .set("spark.jccl.timeout", "200s")
                .set("spark.jccl.barrier.slotsTimeout", "60s"));
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    @Test
    void eachRankRunsInItsOwnProcess() {
        List<String> results =
                JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::sum).collect();

        assertThat(results).hasSize(2).allMatch(result -> result.contains("/2 sum 1 attempt 0 process"));
        assertThat(results.stream().map(result -> result.replaceAll(".* ", "")).collect(Collectors.toSet()))
                .as("processes")
                .hasSize(2);
    }

    @Test
    void killedExecutorCausesAnotherAttemptWithTheRightResult() {
        JavaRDD<String> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::sumWithKill);

        assertThat(results.collect()).containsExactly("0/2 sum 3.0 attempt 1", "1/2 sum 3.0 attempt 1");
    }

    @Test
    void resultsLostWithAnExecutorAreComputedAgain() throws Exception {
        JavaRDD<String> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::sum);
        String process = results.collect().get(1).replaceAll(".* ", "");
        int executors = spark.sc().statusTracker().getExecutorInfos().length;

        new ProcessBuilder("kill", "-9", process).start().waitFor();
        while (spark.sc().statusTracker().getExecutorInfos().length == executors) {
            Thread.sleep(10); // until the driver has noticed that some results are lost
        }

        assertThat(results.collect()).hasSize(2).allMatch(result -> result.contains("/2 sum 1 attempt "));
    }

    @Test
    void dynamicAllocationIsRefusedBeforeTheJobStarts() {
        JavaRDD<Integer> numbers = Ranks.numbers(spark, 2);
        spark.sc().conf().set("spark.dynamicAllocation.enabled", "true");
        try {
            assertThatThrownBy(() -> JcclBarrier.mapPartitions(numbers, (comm, rows) -> rows))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("spark.dynamicAllocation.enabled=true: expected false");
        } finally {
            spark.sc().conf().remove("spark.dynamicAllocation.enabled");
        }
    }
}
