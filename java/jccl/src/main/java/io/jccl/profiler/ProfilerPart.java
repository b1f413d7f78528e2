package io.jccl.profiler;

import io.jccl.parts.InitContext;
import io.jccl.parts.OperationProfiler;
import io.jccl.parts.Part;
import io.jccl.topology.NetPlugin;
import java.util.Optional;

/** Profiler plug-ins, which receive the begin and the end of operations. */
public final class ProfilerPart implements Part {

    @Override
    public Optional<OperationProfiler> profiler(
            InitContext context, String communicator, int hosts, Optional<NetPlugin> network) {
        return ProfilerPlugin.open(context, communicator, hosts, network).map(OperationProfiler.class::cast);
    }
}
