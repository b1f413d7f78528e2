package io.jccl.planning;

import io.jccl.plan.Plan;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.GpuShape;
import java.util.List;
import java.util.Optional;

/**
 * What a communicator does; equal on all ranks.
 *
 * @param host rings and trees for memory of the host
 * @param gpu rings and trees over the ranks' GPUs, if they have a plan of their own
 * @param shape what the cost model for host ranks knows of the communicator
 * @param choices how each operation on memory of the host is executed
 */
public record CommunicatorPlan(Plan host, Optional<GpuPlan> gpu, CommunicatorShape shape, ChoiceTable choices) {

    /**
     * Rings and trees over the ranks' GPUs.
     *
     * @param plan over all hosts
     * @param shape what the cost model for GPUs knows of it
     */
    public record GpuPlan(Plan plan, GpuShape shape) {}

    /** The same plan with other choices. */
    public CommunicatorPlan with(ChoiceTable other) {
        return new CommunicatorPlan(host, gpu, shape, other);
    }

    /** What the settings could not be followed in and the models' rules, as text for the log. */
    public List<String> notes() {
        return choices.notes();
    }

    /** What operations on memory of GPUs follow. */
    public Plan onDevices() {
        return gpu.isPresent() ? gpu.get().plan() : host;
    }
}
