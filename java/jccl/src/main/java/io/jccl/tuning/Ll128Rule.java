package io.jccl.tuning;

import io.jccl.search.GraphSummary;
import io.jccl.topology.PathType;
import java.util.Optional;

/**
 * Decides where LL128 may be used between GPUs. The protocol needs 128-byte lines, stored by one warp, to arrive whole
 * and in order. No specification promises that; it was found to hold for the GPU generations and link types listed
 * here.
 */
final class Ll128Rule {

    /** Lowest compute capability (times ten) whose warps store a line at once. */
    private static final int FIRST_CAPABILITY = 70;
    /** Lowest compute capability (times ten) from which on GPUs of different generations may be mixed. */
    private static final int MIXABLE_CAPABILITY = 90;

    private Ll128Rule() {}

    /** Returns the reason why LL128 must not be used on these channels; empty if it is safe. */
    static Optional<String> danger(GpuShape shape, GraphSummary graph) {
        if (!shape.oneHost()) {
            return Optional.of("networks may tear its lines");
        }
        if (graph.typeIntra().compareTo(PathType.NVB) > 0) {
            return Optional.of("paths of type=" + graph.typeIntra() + " may tear its lines");
        }
        if (shape.minCapability() < FIRST_CAPABILITY) {
            return Optional.of("GPUs of sm=" + shape.minCapability() + " may tear its lines");
        }
        if (shape.minCapability() != shape.maxCapability() && shape.minCapability() < MIXABLE_CAPABILITY) {
            return Optional.of("GPUs of sm=" + shape.minCapability() + " and sm=" + shape.maxCapability()
                    + " may see its lines torn");
        }
        return Optional.empty();
    }

    static boolean allows(Ll128 policy, GpuShape shape, GraphSummary graph) {
        return switch (policy) {
            case OFF -> false;
            case AUTO -> danger(shape, graph).isEmpty();
            case FORCE -> true;
        };
    }
}
