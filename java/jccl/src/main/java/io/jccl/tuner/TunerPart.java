package io.jccl.tuner;

import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.InitContext;
import io.jccl.parts.Part;
import io.jccl.topology.NetPlugin;
import java.util.Optional;

/** Tuner plug-ins, which change how operations are executed. */
public final class TunerPart implements Part {

    @Override
    public Optional<ChoiceTuner> tuner(InitContext context, String communicator, Optional<NetPlugin> network) {
        return Optional.of(TunerPlugin.open(context, communicator, network));
    }
}
