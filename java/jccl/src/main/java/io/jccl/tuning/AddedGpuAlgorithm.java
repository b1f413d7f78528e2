package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * An algorithm between GPUs that a part adds to one communicator. {@link GraphCostModel} adds its latency and the time
 * of its bytes. Equal on all ranks, immutable, safe to share.
 */
public interface AddedGpuAlgorithm {

    /** Returns the name of the algorithm, by which settings and reports refer to it. */
    Algorithm algorithm();

    /** Returns true if the communicator can execute the collective with this algorithm and protocol. */
    boolean exists(Collective collective, Protocol protocol, GpuShape shape);

    /** Returns the largest number of channels that can use this algorithm. */
    default int channels(GpuShape shape) {
        return shape.channels();
    }

    /** Returns the time in microseconds in which the first byte of an operation travels. */
    double latencyMicros(GpuShape shape);

    /**
     * Returns the bandwidth in GB/s with all channels. It counts the bytes of the larger of a rank's buffers, as the
     * algbw of {@code jccl perf} does.
     */
    double gbps(Collective collective, GpuShape shape);

    /**
     * Returns the bytes that the blocks of a rank read and write for each byte of an operation; 0 if blocks do not limit
     * the algorithm.
     */
    default double accessed(Collective collective, GpuShape shape) {
        return 0;
    }

    /** Returns the bandwidth in GB/s that links allow, without any loss; counts bytes as {@link #gbps}. */
    default double linkGBps(Collective collective, GpuShape shape) {
        return gbps(collective, shape);
    }

    /**
     * Returns a test that is true for an operation, packed as for native code, that this algorithm can execute if the
     * ranks' counts are equal.
     *
     * @return empty if the algorithm can execute each operation of the collectives that {@link #exists} names
     */
    default Optional<IntPredicate> condition() {
        return Optional.empty();
    }
}
