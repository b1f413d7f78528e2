package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import scala.reflect.ClassTag;

/** Tests of barrier stages with a local master: the tasks, and so the ranks, are threads of this process. */
class JcclBarrierTest {

    private static final String PEER_LEFT = "rank 1 has had enough";

    /** Ranks report to the test by static latches: with a local master, tasks are threads of this process. */
    private static final CountDownLatch WAITING = new CountDownLatch(1);

    private static final CountDownLatch ENDED = new CountDownLatch(1);

    private static final CountDownLatch INITIALISING = new CountDownLatch(1);
    private static final CountDownLatch NOT_INITIALISED = new CountDownLatch(1);

    private static SparkSession session;
    private static JavaSparkContext spark;

    @BeforeAll
    static void start() {
        session = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config("spark.speculation", "true")
                .config("spark.stage.maxConsecutiveAttempts", "2")
                .config("spark.jccl.timeout", "40s")
                .config("spark.jccl.barrier.slotsTimeout", "1s")
                .getOrCreate();
        spark = new JavaSparkContext(session.sparkContext());
    }

    @AfterAll
    static void stop() {
        session.stop();
    }

    @Test
    void partitionsBecomeRanksAndResultsKeepTheirOrder() {
        JavaRDD<String> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), (comm, rows) -> List.of(
                        comm.rank() + " " + comm.allReduce((long) rows.next(), ReduceOp.SUM), "a", "b", "c")
                .iterator());

        assertThat(results.getNumPartitions()).isEqualTo(2);
        assertThat(results.collect()).containsExactly("0 1", "a", "b", "c", "1 1", "a", "b", "c");
    }

    @Test
    void lazyResultsCanCommunicateWhileTheyAreRead() {
        JavaRDD<Double> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), Ranks::lazySums);

        assertThat(results.collect()).containsExactly(2.0, 4.0, 6.0, 2.0, 4.0, 6.0);
    }

    @Test
    void secondActionReadsTheResultsOfTheFirst() {
        JavaRDD<Long> results = JcclBarrier.mapPartitions(
                Ranks.numbers(spark, 2), (comm, rows) -> List.of(comm.allReduce(System.nanoTime(), ReduceOp.MAX))
                        .iterator());

        assertThat(results.collect()).isEqualTo(results.collect());
    }

    @Test
    void scalaRddsAndDatasetsHaveRanksToo() {
        RDD<Integer> rdd = Ranks.numbers(spark, 2).rdd();
        RankFunction<Integer, Object> sizes =
                (comm, rows) -> List.<Object>of(comm.size() + rows.next()).iterator();
        Dataset<Long> dataset = session.range(0, 10, 1, 2).as(Encoders.LONG());

        assertThat(JcclBarrier.mapPartitions(rdd, sizes, ClassTag.Int()).collect())
                .isEqualTo(new int[] {2, 3});
        assertThat(JcclBarrier.mapPartitions(
                                dataset,
                                (comm, rows) -> {
                                    long sum = 0;
                                    while (rows.hasNext()) {
                                        sum += rows.next();
                                    }
                                    return List.of(comm.allReduce(sum, ReduceOp.SUM))
                                            .iterator();
                                },
                                Encoders.LONG())
                        .collectAsList())
                .containsExactly(45L, 45L);
    }

    @Test
    void errorOfARankEndsTheOthersAtOnceAndReachesTheUser() {
        JavaRDD<Integer> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), (comm, rows) -> {
            if (comm.rank() == 1) {
                throw new IllegalStateException(PEER_LEFT);
            }
            comm.allReduce(1.0, ReduceOp.SUM);
            return Collections.emptyIterator();
        });

        long begin = System.nanoTime();
        assertThatThrownBy(results::collect).isInstanceOf(SparkException.class).hasMessageContaining(PEER_LEFT);
        // Spark makes two attempts. In each, Spark's all-gather of the unique id takes one second. JCCL's time-out is
        // 40 s.
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(30));
    }

    @Test
    void cancelledJobEndsRanksThatWaitInAnOperation() throws Exception {
        JavaRDD<Integer> results = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), (comm, rows) -> {
            if (comm.rank() == 0) {
                WAITING.countDown();
                try {
                    comm.allReduce(1.0, ReduceOp.SUM);
                } finally {
                    ENDED.countDown();
                }
            }
            ENDED.await();
            return Collections.emptyIterator();
        });

        JavaFutureAction<List<Integer>> job = results.collectAsync();
        WAITING.await();
        job.cancel(true);

        assertThat(ENDED.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void cancelledJobEndsAnInitialisationThatWaitsForOtherRanks() throws Exception {
        JavaRDD<Integer> ranks = Ranks.numbers(spark, 1).map(number -> {
            TaskLife life = TaskLife.begin(TaskContext.get());
            UniqueId id = UniqueId.create();
            INITIALISING.countDown();
            try {
                life.initialise(() -> Communicator.init(id, 0, 2)); // rank 1 never starts
            } catch (InterruptedCommunicationException e) {
                NOT_INITIALISED.countDown();
                throw e;
            }
            return number;
        });

        JavaFutureAction<List<Integer>> job = ranks.collectAsync();
        INITIALISING.await();
        job.cancel(true);

        assertThat(NOT_INITIALISED.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void tooFewSlotsAreReportedBeforeTheJobStarts() {
        JavaRDD<Integer> numbers = Ranks.numbers(spark, 3);

        assertThatThrownBy(() -> JcclBarrier.mapPartitions(numbers, (comm, rows) -> rows))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("partitions=3 slots=2: expected as many slots as partitions within "
                        + "spark.jccl.barrier.slotsTimeout=1s")
                .hasMessageContaining("repartition(2)");
        assertThatThrownBy(() -> JcclBarrier.mapPartitions(spark.emptyRDD(), (comm, rows) -> rows))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("partitions=0");
    }

    @Test
    void nullArgumentsAreNamed() {
        JavaRDD<Integer> numbers = Ranks.numbers(spark, 2);

        assertThatThrownBy(() -> JcclBarrier.mapPartitions((JavaRDD<Integer>) null, (comm, rows) -> rows))
                .hasMessageStartingWith("rdd=null");
        assertThatThrownBy(() -> JcclBarrier.mapPartitions(numbers, null)).hasMessageStartingWith("function=null");
        assertThatThrownBy(() ->
                        JcclBarrier.mapPartitions(numbers, (comm, rows) -> null).collect())
                .isInstanceOf(SparkException.class)
                .hasMessageContaining("results=null");
    }

    @Test
    void badSettingOfTheCommunicatorIsReported() {
        JavaRDD<Integer> numbers = Ranks.numbers(spark, 2);
        SparkConf conf = spark.sc().conf();
        conf.set("spark.jccl.buffsiz", "1M");
        try {
            assertThatThrownBy(() -> JcclBarrier.mapPartitions(numbers, (comm, rows) -> rows)
                            .collect())
                    .isInstanceOf(SparkException.class)
                    .hasMessageContaining("JCCL_BUFFSIZ")
                    .hasMessageContaining("JCCL_BUFFSIZE");
        } finally {
            conf.remove("spark.jccl.buffsiz");
        }
    }

    @Test
    void aggregatesReduceOverAllRanksAndMetricsCountThem() {
        JcclMetrics metrics = JcclMetrics.register(spark.sc(), "test");
        List<Double> sums = JcclBarrier.mapPartitions(Ranks.numbers(spark, 2), (comm, rows) -> {
                    JcclAggregate all = JcclAggregate.over(comm, metrics);
                    double[] doubles = {comm.rank(), 10};
                    float[] floats = {comm.rank(), 20};
                    all.sum(doubles);
                    all.sum(floats);
                    long integers = all.sum(3L);
                    all.reduce(List.of(DataBuffer.of(doubles), DataBuffer.of(floats)), ReduceOp.MAX);
                    List<Double> seen = new ArrayList<>();
                    seen.add(doubles[0]);
                    seen.add(doubles[1]);
                    seen.add((double) floats[0]);
                    seen.add((double) floats[1]);
                    seen.add((double) integers);
                    seen.add(all.sum(0.5));
                    return seen.iterator();
                })
                .collect();

        assertThat(sums).containsExactly(1.0, 20.0, 1.0, 40.0, 6.0, 1.0, 1.0, 20.0, 1.0, 40.0, 6.0, 1.0);
        assertThat(metrics.operations()).isEqualTo(10);
        assertThat(metrics.bytes()).isEqualTo(2 * (16 + 8 + 8 + 24 + 8));
        assertThat(metrics.seconds()).isPositive();
    }
}
