package io.jccl.init;

import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.InitContext;
import io.jccl.parts.OperationProfiler;
import io.jccl.parts.Part;
import io.jccl.topology.NetPlugin;
import java.util.List;
import java.util.Optional;

/** The parts that can be left out: to remove one, delete its line here and its folders. */
final class Parts {

    private static final List<Part> ALL = List.of(
            // one line for each, which is the only reference to the part
            new io.jccl.tuner.TunerPart(), new io.jccl.profiler.ProfilerPart(), new Part() {});

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
