package io.jccl.planning;

import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.GpuShape;
import java.util.List;
import java.util.Optional;

/**
 * How a communicator executes its operations; equal on all ranks.
 *
 * @param host rings and trees for host memory
 * @param gpu rings and trees over the ranks' GPUs, if these have their own plan
 * @param shape the input of the cost model for host ranks
 * @param choices how each operation on host memory is executed
 */
public record CommunicatorPlan(Plan host, Optional<GpuPlan> gpu, CommunicatorShape shape, ChoiceTable choices) {

    /**
     * Rings and trees over the ranks' GPUs.
     *
     * @param plan the plan over all hosts
     * @param shape the input of the cost model for GPUs
     */
    public record GpuPlan(Plan plan, GpuShape shape) {}

    /** Returns the same plan with other choices. */
    public CommunicatorPlan with(ChoiceTable other) {
        return new CommunicatorPlan(host, gpu, shape, other);
    }

    /**
     * Returns notes for the log: the settings that could not be followed, and remarks on the rules of the cost models.
     */
    public List<String> notes() {
        return choices.notes();
    }

    /** Returns the plan that operations on GPU memory follow. */
    public Plan onDevices() {
        return gpu.isPresent() ? gpu.get().plan() : host;
    }
}
