package io.jccl.nvls;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.GpuShape;
import java.util.Optional;
import java.util.function.IntPredicate;

/** Predicts operations that the switch between GPUs reduces. */
final class NvlsAlgorithm implements AddedGpuAlgorithm {

    /** Time of an operation without its bytes: the launch, two barriers of all ranks, and the switch. */
    private static final double SWITCH_US = 25;

    /**
     * Share of a link's bandwidth that is left when the switch reduces, measured by NVIDIA and published with NCCL: for
     * GPUs of compute capability 9.0, and from 10.0 on.
     */
    private static final double[] EFFICIENCY = {0.85, 0.74};

    private static final int SECOND_CAPABILITY = 100;

    @Override
    public Algorithm algorithm() {
        return Algorithm.NVLS;
    }

    @Override
    public boolean exists(Collective collective, Protocol protocol, GpuShape shape) {
        return shape.hasSwitch()
                && protocol == Protocol.SIMPLE
                && switch (collective) {
                    case ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER -> true;
                    default -> false;
                };
    }

    @Override
    public double latencyMicros(GpuShape shape) {
        return SWITCH_US;
    }

    @Override
    public double gbps(Collective collective, GpuShape shape) {
        double efficiency = EFFICIENCY[shape.minCapability() < SECOND_CAPABILITY ? 0 : 1];
        return efficiency * linkGBps(collective, shape);
    }

    @Override
    public double linkGBps(Collective collective, GpuShape shape) {
        return shape.switchGBps() / trips(collective, shape);
    }

    /**
     * A rank's blocks copy its data into slots, reduce or send its shard through the switch, and copy the results from
     * slots: nvls_kernel.h.
     */
    @Override
    public double accessed(Collective collective, GpuShape shape) {
        double shard = 1.0 / shape.ranks();
        return switch (collective) {
            case ALL_REDUCE -> 4 + 2 * shard;
            case REDUCE_SCATTER -> 2 + 4 * shard; // fill all data, reduce and store the shard, copy it out
            default -> 2 + 2 * shard; // store the own part, copy all parts out
        };
    }

    /**
     * Returns how often a byte passes a rank's link to the switch, in the busier direction. In an all-reduce the switch
     * reads all data of a rank and writes all results to it. In addition the rank itself sends or receives its shard.
     */
    private static double trips(Collective collective, GpuShape shape) {
        return collective == Collective.ALL_REDUCE ? 1 + 1.0 / shape.ranks() : 1;
    }

    /** The switch computes only some reductions, of some types. */
    @Override
    public Optional<IntPredicate> condition() {
        return Optional.of(NativeNvls::executes);
    }
}
