package io.jccl.collnet;

import io.jccl.Algorithm;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.Part;
import io.jccl.planning.AddedAlgorithms;
import io.jccl.topology.ReducingDevice;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Algorithms by which the network between hosts reduces. */
public final class CollNetPart implements Part {

    /** Only connecting shows whether the network can reduce. */
    @Override
    public AddedAlgorithms expected(Settings settings) {
        return settings.get(AlgorithmSettings.COLLNET_ENABLE)
                ? new AddedAlgorithms(List.of(), Set.of(Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN))
                : AddedAlgorithms.NONE;
    }

    @Override
    public Optional<Extension> extension(InitContext context) {
        return Optional.of(new CollNetExtension(context));
    }

    @Override
    public List<ReducingDevice> reducingDevices(Settings settings) {
        return CollNetDevices.of(settings);
    }
}
