package io.jccl.spark;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sums over all ranks, in place: replaces {@code treeAggregate} and a broadcast of its result, without the driver.
 * Every rank passes the same number of elements and receives the same bits.
 *
 * <pre>{@code
 * JcclAggregate all = JcclAggregate.over(comm);
 * for (int i = 0; i < iterations; i++) {
 *     double[] gradient = gradientOf(mine, weights);
 *     all.sum(gradient);
 *     step(weights, gradient);
 * }
 * }</pre>
 *
 * <p>Each method waits for its result, and throws the exceptions of {@link io.jccl.Work#await()}. For use by the task's
 * thread.
 */
public final class JcclAggregate {

    private final Communicator comm;
    private final @Nullable JcclMetrics metrics;

    private JcclAggregate(Communicator comm, @Nullable JcclMetrics metrics) {
        this.comm = BarrierSettings.required("comm", comm, "the communicator of the rank");
        this.metrics = metrics;
    }

    /** Returns an object that sums over the ranks of a communicator. */
    public static JcclAggregate over(Communicator comm) {
        return new JcclAggregate(comm, null);
    }

    /**
     * Returns an object that sums over the ranks of a communicator, and counts bytes and time.
     *
     * @param metrics metrics that the driver has registered
     */
    public static JcclAggregate over(Communicator comm, JcclMetrics metrics) {
        return new JcclAggregate(comm, BarrierSettings.required("metrics", metrics, "what the driver has registered"));
    }

    /** Returns the communicator, for other operations. */
    public Communicator communicator() {
        return comm;
    }

    /** Replaces each element by its sum over all ranks. */
    public void sum(double[] values) {
        reduce(DataBuffer.of(values), ReduceOp.SUM);
    }

    /** Replaces each element by its sum over all ranks, in single precision. */
    public void sum(float[] values) {
        reduce(DataBuffer.of(values), ReduceOp.SUM);
    }

    /**
     * Replaces each element by its sum over all ranks. Ranks of one host use each other's buffers in place, without
     * copies.
     *
     * @param type type of all elements of the buffer
     */
    public void sum(HostBuffer buffer, DataType type) {
        reduce(
                BarrierSettings.required("buffer", buffer, "memory with this rank's elements")
                        .as(type),
                ReduceOp.SUM);
    }

    /** Returns the sum of a number over all ranks. */
    public double sum(double value) {
        double[] one = {value};
        sum(one);
        return one[0];
    }

    /** Returns the sum of an integer over all ranks. */
    public long sum(long value) {
        long[] one = {value};
        reduce(DataBuffer.of(one), ReduceOp.SUM);
        return one[0];
    }

    /**
     * Combines the elements of all ranks, in place.
     *
     * @param buffer the same number of elements of the same type on all ranks
     * @param op how elements are combined, for example {@link ReduceOp#MAX}
     */
    public void reduce(DataBuffer buffer, ReduceOp op) {
        long begin = System.nanoTime();
        comm.allReduce(buffer, op, WireFormat.EXACT).await();
        if (metrics != null) {
            metrics.count(buffer.bytes(), System.nanoTime() - begin);
        }
    }

    /**
     * Combines the elements of several buffers of all ranks, in place and in one operation. This is cheaper than
     * several operations if the buffers are small.
     *
     * @param buffers the same number of buffers with the same types and sizes on all ranks
     * @param op how elements are combined
     */
    public void reduce(List<DataBuffer> buffers, ReduceOp op) {
        long begin = System.nanoTime();
        comm.allReduce(buffers, op, WireFormat.EXACT).await();
        if (metrics != null) {
            long bytes = buffers.stream().mapToLong(DataBuffer::bytes).sum();
            metrics.count(bytes, System.nanoTime() - begin);
        }
    }

    /**
     * Replaces each element of a gradient by its sum over all ranks, in the format of the communicator
     * ({@link Communicator#wireFormat()}).
     *
     * @param value a number that belongs to the gradient
     * @return the exact sum of {@code value} over all ranks
     */
    double sumGradient(double[] gradient, double value) {
        double[] one = {value};
        long begin = System.nanoTime();
        comm.group(group -> group.allReduce(gradient, ReduceOp.SUM)
                        .allReduce(DataBuffer.of(one), ReduceOp.SUM, WireFormat.EXACT))
                .await();
        if (metrics != null) {
            metrics.count((gradient.length + 1L) * Double.BYTES, System.nanoTime() - begin);
        }
        return one[0];
    }
}
