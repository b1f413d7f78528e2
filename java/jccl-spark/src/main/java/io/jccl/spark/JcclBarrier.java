package io.jccl.spark;

import java.io.Serializable;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import scala.Function1;
import scala.Tuple2;
import scala.reflect.ClassTag;

/**
 * Runs a function on all partitions of an RDD or Dataset at once, with a {@link io.jccl.Communicator} that connects
 * them.
 *
 * <pre>{@code
 * JavaRDD<double[]> models = JcclBarrier.mapPartitions(rows, (comm, mine) -> {
 *     double[] gradient = gradientOf(mine);
 *     comm.allReduce(DataBuffer.of(gradient), ReduceOp.SUM).await();
 *     return List.of(gradient).iterator();
 * });
 * }</pre>
 *
 * <p>The stage is a barrier stage: Spark starts all tasks together, or none. Each attempt of the stage initialises a
 * communicator of its own. Its ranks are the numbers of the partitions; tasks of one executor are ranks of one process.
 * If Spark assigns a GPU to a task, the rank uses it.
 *
 * <p>When a task fails, is killed or loses its executor, the operations of the other ranks fail at once, and Spark
 * starts another attempt of the whole stage, {@code spark.stage.maxConsecutiveAttempts} times. Spark does not do that
 * for a barrier stage whose results go to the driver. Therefore the RDD that these methods return has a shuffle after
 * the barrier stage, which makes rank {@code i}'s results partition {@code i}. A second action finds the results in the
 * shuffle and does not run the function again.
 *
 * <p>These methods are lazy, like other transformations. They check on the driver whether the stage can start; see
 * {@code spark.jccl.barrier.slotsTimeout}. Settings {@code spark.jccl.NAME} become the communicator's settings
 * {@code JCCL_NAME}.
 *
 * <p>Any thread of the driver may call these methods.
 */
public final class JcclBarrier {

    private JcclBarrier() {}

    /**
     * Runs a function on all partitions at once.
     *
     * @param rdd rows, with a partition for each rank of the communicator
     * @param function function that each rank runs
     * @return the results, with a partition for each rank, in the order of ranks
     * @throws IllegalArgumentException if the RDD has no partition, a setting has a bad value, dynamic allocation is
     *     enabled, or the cluster does not have as many slots as partitions in time
     */
    public static <T, R> JavaRDD<R> mapPartitions(JavaRDD<T> rdd, RankFunction<T, R> function) {
        BarrierSettings.required("rdd", rdd, "the rows, one partition for each rank");
        return results(rdd.rdd(), function, JcclBarrier.<R>classTag()).toJavaRDD();
    }

    /**
     * Runs a function on all partitions at once; for Scala.
     *
     * @param rdd rows, with a partition for each rank of the communicator
     * @param function function that each rank runs
     * @param resultType {@code classTag[R]}
     * @return the results, with a partition for each rank, in the order of ranks
     * @throws IllegalArgumentException as {@link #mapPartitions(JavaRDD, RankFunction)}
     */
    public static <T, R> RDD<R> mapPartitions(RDD<T> rdd, RankFunction<T, R> function, ClassTag<R> resultType) {
        BarrierSettings.required("rdd", rdd, "the rows, one partition for each rank");
        BarrierSettings.required("resultType", resultType, "the class tag of the results");
        return results(rdd, function, resultType);
    }

    /**
     * Runs a function on all partitions at once.
     *
     * @param dataset rows, with a partition for each rank of the communicator: {@code dataset.repartition(n)}
     * @param function function that each rank runs
     * @param encoder encoder of the results
     * @return the results, with a partition for each rank, in the order of ranks
     * @throws IllegalArgumentException as {@link #mapPartitions(JavaRDD, RankFunction)}
     */
    public static <T, R> Dataset<R> mapPartitions(Dataset<T> dataset, RankFunction<T, R> function, Encoder<R> encoder) {
        BarrierSettings.required("dataset", dataset, "the rows, one partition for each rank");
        BarrierSettings.required("encoder", encoder, "the encoder of the results, for example Encoders.DOUBLE()");
        return dataset.sparkSession()
                .createDataset(mapPartitions(dataset.toJavaRDD(), function).rdd(), encoder);
    }

    /** Returns the results, from a shuffle after the barrier stage. */
    private static <T, R> RDD<R> results(RDD<T> rdd, RankFunction<T, R> function, ClassTag<R> resultType) {
        BarrierSettings.required("function", function, "what each rank does");
        BarrierSettings settings = BarrierSettings.of(rdd.sparkContext().getConf());
        settings.requireStartable(rdd);
        RDD<Tuple2<Integer, R>> ranked =
                rdd.barrier().mapPartitions(new RankTask<>(settings.communicator(), function), false, classTag());
        return JavaPairRDD.fromRDD(ranked, JcclBarrier.<Integer>classTag(), JcclBarrier.<R>classTag())
                .partitionBy(new RankPartitioner(rdd.getNumPartitions()))
                .rdd()
                .map((Function1<Tuple2<Integer, R>, R> & Serializable) Tuple2::_2, resultType);
    }

    /** Returns the class tag that Spark's own Java API uses for elements of unknown class. */
    @SuppressWarnings("unchecked")
    private static <E> ClassTag<E> classTag() {
        return (ClassTag<E>) ClassTag.AnyRef();
    }
}
