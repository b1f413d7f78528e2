package io.jccl.planning;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.plan.PlanOptions;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;

/**
 * What the settings say about a plan and its choices; equal on all ranks.
 *
 * @param channels bounds of the number of channels
 * @param slots payload bytes of one slot for each protocol
 * @param deviceSlots the same between GPUs
 * @param overrides of the choices
 * @param costs the constants to predict host ranks with
 */
public record PlanningOptions(
        PlanOptions channels, SlotBytes slots, SlotBytes deviceSlots, TuningOverrides overrides, HostCosts costs) {

    /** The same for operations that no switch reduces. */
    public PlanningOptions withoutNvls() {
        return new PlanningOptions(channels, slots, deviceSlots, overrides.withoutNvls(), costs);
    }

    /** The same where no network reduces. */
    public PlanningOptions withoutCollNet() {
        return new PlanningOptions(channels, slots, deviceSlots, overrides.withoutCollNet(), costs);
    }

    /** The options that the settings give. */
    public static PlanningOptions of(Settings settings, HostCosts costs) {
        int min = Math.max(1, settings.get(AlgorithmSettings.MIN_NCHANNELS));
        int max = settings.get(AlgorithmSettings.MAX_NCHANNELS);
        return new PlanningOptions(
                new PlanOptions(min, max == 0 ? PlanOptions.CHANNEL_LIMIT : max),
                SlotBytes.of(settings),
                SlotBytes.ofDevices(settings),
                TuningOverrides.of(settings),
                costs);
    }
}
