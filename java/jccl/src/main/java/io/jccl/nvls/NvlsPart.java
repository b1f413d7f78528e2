package io.jccl.nvls;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.Part;
import io.jccl.planning.AddedAlgorithms;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The algorithm by which the switch between GPUs reduces. */
public final class NvlsPart implements Part {

    @Override
    public AddedAlgorithms expected(Settings settings) {
        return isAllowed(settings) ? new AddedAlgorithms(List.of(new NvlsAlgorithm()), Set.of()) : AddedAlgorithms.NONE;
    }

    static boolean isAllowed(Settings settings) {
        return settings.get(AlgorithmSettings.NVLS_ENABLE) != 0;
    }

    @Override
    public Optional<Extension> extension(InitContext context) {
        return Optional.of(new NvlsExtension(context));
    }
}
