package io.jccl.init;

import io.jccl.config.Settings;
import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.OperationProfiler;
import io.jccl.parts.Part;
import io.jccl.parts.SendForwarding;
import io.jccl.planning.AddedAlgorithms;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.TopologySource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The parts that can be left out: to remove one, delete its line here and its folders. */
public final class Parts {

    private static final List<Part> ALL = all();

    /** Has one line for each part, which is the only reference to it. */
    private static List<Part> all() {
        List<Part> parts = new ArrayList<>();
        parts.add(new io.jccl.tuner.TunerPart());
        parts.add(new io.jccl.profiler.ProfilerPart());
        parts.add(new io.jccl.collnet.CollNetPart());
        parts.add(new io.jccl.nvls.NvlsPart());
        parts.add(new io.jccl.pxn.PxnPart());
        return List.copyOf(parts);
    }

    private Parts() {}

    /** Returns the algorithms that parts are expected to add to communicators with these settings. */
    public static AddedAlgorithms expected(Settings settings) {
        return ALL.stream().map(part -> part.expected(settings)).reduce(AddedAlgorithms.NONE, AddedAlgorithms::and);
    }

    /** Returns the sources of this host's network devices in addition to the kernel. */
    public static TopologySource.Networks networks(Settings settings, Optional<NetPlugin> plugin) {
        return new TopologySource.Networks(plugin, () -> ALL.stream()
                .flatMap(part -> part.reducingDevices(settings).stream())
                .toList());
    }

    /** Returns the policy of the settings for paths, in which GPUs send through others only if a part forwards. */
    public static PathPolicy paths(Settings settings) {
        PathPolicy policy = PathPolicy.of(settings);
        return ALL.stream().anyMatch(Part::forwards) ? policy : policy.withoutNetworkNeighbours();
    }

    /** Returns what adds the algorithms of all parts to a communicator. */
    static Extension extension(InitContext context) {
        return new Extensions(
                ALL.stream().flatMap(part -> part.extension(context).stream()).toList());
    }

    /** See {@link Part#forwarding}. */
    static SendForwarding forwarding(InitContext context) {
        return ALL.stream()
                .flatMap(part -> part.forwarding(context).stream())
                .findFirst()
                .orElse(SendForwarding.NONE);
    }

    /** See {@link Part#tuner}. */
    static ChoiceTuner tuner(InitContext context, String communicator, Optional<NetPlugin> network) {
        return ALL.stream()
                .flatMap(part -> part.tuner(context, communicator, network).stream())
                .findFirst()
                .orElse(ChoiceTuner.NONE);
    }

    /** See {@link Part#profiler}. */
    static Optional<OperationProfiler> profiler(
            InitContext context, String communicator, int hosts, Optional<NetPlugin> network) {
        return ALL.stream()
                .flatMap(part -> part.profiler(context, communicator, hosts, network).stream())
                .findFirst();
    }
}
