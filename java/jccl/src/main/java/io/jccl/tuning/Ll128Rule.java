package io.jccl.tuning;

import io.jccl.plan.GraphSummary;
import io.jccl.topology.PathType;
import java.util.Optional;

/**
 * Where LL128 may be used between GPUs. It needs 128-byte lines, stored by one warp, to arrive whole and in order. No
 * specification promises that: it was found to hold for generations of GPUs and kinds of links, which are listed here.
 */
final class Ll128Rule {

    /** The first generation whose warps store a line as one. */
    private static final int FIRST_CAPABILITY = 70;
    /** From this generation on, GPUs of different generations may be mixed. */
    private static final int MIXABLE_CAPABILITY = 90;

    private Ll128Rule() {}

    /** Why LL128 must not be used on these channels; nothing where it is safe. */
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
