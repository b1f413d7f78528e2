package io.jccl.tuning;

import io.jccl.plan.Plan;
import java.util.function.Supplier;

/** Which cost model predicts the operations of a plan: that for GPUs where every rank owns one, else that for the host. */
public final class PlannedModel {

    private PlannedModel() {}

    /**
     * The model of a communicator. All ranks must pass equal values.
     *
     * @param plan its plan
     * @param traits what its machines are
     * @param slots payload bytes of one slot per protocol
     * @param overrides what the settings say
     * @param costs the constants of the model for the host
     * @param onHost what that model has to know; asked only where it is taken
     */
    public static TimeModel of(
            Plan plan,
            MachineTraits traits,
            CommunicatorShape.SlotBytes slots,
            TuningOverrides overrides,
            HostCosts costs,
            Supplier<CommunicatorShape> onHost) {
        return plan.gpu()
                ? new GraphCostModel(GpuShape.of(plan, traits, slots), overrides)
                : new CostModel(costs, onHost.get());
    }
}
