package io.jccl.planning;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;

/**
 * The settings that concern a plan and its choices; equal on all ranks.
 *
 * @param channels bounds of the number of channels
 * @param slots payload bytes of one slot for each protocol
 * @param deviceSlots payload bytes of one slot between GPUs for each protocol
 * @param overrides the settings that restrict the choices
 * @param costs the constants of the cost model for host ranks
 */
public record PlanningOptions(
        PlanOptions channels, SlotBytes slots, SlotBytes deviceSlots, TuningOverrides overrides, HostCosts costs) {

    /** Returns these options for operations that no switch reduces: {@code JCCL_ALGO=nvls} restricts nothing then. */
    public PlanningOptions withoutNvls() {
        return new PlanningOptions(channels, slots, deviceSlots, overrides.withoutNvls(), costs);
    }

    /**
     * Returns these options for networks that do not reduce: a setting that names a CollNet algorithm restricts nothing
     * then.
     */
    public PlanningOptions withoutCollNet() {
        return new PlanningOptions(channels, slots, deviceSlots, overrides.withoutCollNet(), costs);
    }

    /** Returns the options of the settings. */
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
