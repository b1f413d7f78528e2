package io.jccl.init;

import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.InitContext;
import io.jccl.parts.OperationProfiler;
import io.jccl.parts.Part;
import io.jccl.topology.NetPlugin;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The parts that can be left out: to remove one, delete its line here and its folders. */
final class Parts {

    private static final List<Part> ALL = all();

    /** Has one line for each part, which is the only reference to it. */
    private static List<Part> all() {
        List<Part> parts = new ArrayList<>();
        parts.add(new io.jccl.tuner.TunerPart());
        parts.add(new io.jccl.profiler.ProfilerPart());
        return List.copyOf(parts);
    }

    private Parts() {}

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
