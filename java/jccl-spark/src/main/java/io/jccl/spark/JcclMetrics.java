package io.jccl.spark;

import java.io.Serializable;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.util.DoubleAccumulator;
import org.apache.spark.util.LongAccumulator;

/**
 * Counts communication in accumulators that Spark's UI shows for each task and stage: {@code NAME: operations},
 * {@code NAME: bytes} and {@code NAME: seconds}. The driver registers them, functions of ranks capture them, and the
 * driver reads the sums.
 *
 * <p>Spark adds the counts of a task when the task has succeeded. As with each accumulator that a transformation
 * updates, a stage that runs again adds its counts again.
 */
public final class JcclMetrics implements Serializable {

    private static final long serialVersionUID = 1L;

    private final LongAccumulator operations;
    private final LongAccumulator bytes;
    private final DoubleAccumulator seconds;

    private JcclMetrics(LongAccumulator operations, LongAccumulator bytes, DoubleAccumulator seconds) {
        this.operations = operations;
        this.bytes = bytes;
        this.seconds = seconds;
    }

    /**
     * Registers the accumulators, on the driver.
     *
     * @param context the context whose UI shows them; for a {@code JavaSparkContext}, its {@code sc()}
     * @param name prefix of their names
     */
    public static JcclMetrics register(SparkContext context, String name) {
        BarrierSettings.required("context", context, "the SparkContext of the application");
        BarrierSettings.required("name", name, "the start of the accumulators' names");
        return new JcclMetrics(
                context.longAccumulator(name + ": operations"),
                context.longAccumulator(name + ": bytes"),
                context.doubleAccumulator(name + ": seconds"));
    }

    /**
     * Counts an operation, on the thread of a task. {@link JcclAggregate} counts its own operations.
     *
     * @param operationBytes size of this rank's buffer
     * @param nanos time that the task waited for the operation
     */
    public void count(long operationBytes, long nanos) {
        operations.add(1L);
        bytes.add(operationBytes);
        seconds.add((double) nanos / TimeUnit.SECONDS.toNanos(1));
    }

    /** Returns the number of operations that all ranks together have counted; for the driver. */
    public long operations() {
        return operations.sum();
    }

    /** Returns the number of bytes of the buffers of all ranks together; for the driver. */
    public long bytes() {
        return bytes.sum();
    }

    /** Returns the number of seconds that all ranks together have waited; for the driver. */
    public double seconds() {
        return seconds.sum();
    }
}
