package io.jccl.planning;

import io.jccl.Algorithm;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The settings that concern a plan and its choices, and the algorithms that parts are expected to add; equal on all
 * ranks.
 *
 * @param channels bounds of the number of channels
 * @param slots payload bytes of one slot for each protocol
 * @param deviceSlots payload bytes of one slot between GPUs for each protocol
 * @param overrides the settings that restrict the choices
 * @param costs the constants of the cost model for host ranks
 * @param added the algorithms that parts are expected to add
 * @param hostsPerCore {@link CommunicatorShape#hostsPerCore}
 */
public record PlanningOptions(
        PlanOptions channels,
        SlotBytes slots,
        SlotBytes deviceSlots,
        TuningOverrides overrides,
        HostCosts costs,
        AddedAlgorithms added,
        double hostsPerCore) {

    /** Returns these options with other bounds of the number of channels. */
    public PlanningOptions withChannels(PlanOptions bounds) {
        return new PlanningOptions(bounds, slots, deviceSlots, overrides, costs, added, hostsPerCore);
    }

    /** Returns these options for machines with that many hosts for each core. */
    public PlanningOptions withHostsPerCore(double hosts) {
        return new PlanningOptions(channels, slots, deviceSlots, overrides, costs, added, hosts);
    }

    /**
     * Returns these options for operations that certain algorithms do not execute: a setting that names only such
     * algorithms restricts nothing.
     */
    public PlanningOptions without(Set<Algorithm> algorithms) {
        return new PlanningOptions(
                channels, slots, deviceSlots, overrides.without(algorithms), costs, added, hostsPerCore);
    }

    /** Returns the options of the settings, with the algorithms that parts are expected to add. */
    public static PlanningOptions of(Settings settings, HostCosts costs, AddedAlgorithms added) {
        int min = Math.max(1, settings.get(AlgorithmSettings.MIN_NCHANNELS));
        int max = settings.get(AlgorithmSettings.MAX_NCHANNELS);
        return new PlanningOptions(
                new PlanOptions(min, max == 0 ? PlanOptions.CHANNEL_LIMIT : max),
                SlotBytes.of(settings),
                SlotBytes.ofDevices(settings),
                TuningOverrides.of(settings),
                costs,
                added,
                1);
    }

    /**
     * Returns the settings that restrict the choices once parts have added {@code existing} algorithms. Takes out the
     * undecided algorithms that were not added.
     */
    TuningOverrides overridesWith(Stream<Algorithm> existing) {
        Set<Algorithm> missing = new HashSet<>(added.undecided());
        existing.forEach(missing::remove);
        return overrides.without(missing);
    }
}
