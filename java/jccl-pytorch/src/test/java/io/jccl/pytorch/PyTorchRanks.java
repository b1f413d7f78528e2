package io.jccl.pytorch;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.time.Duration;

/** Ranks with PyTorch, which a busy host takes long to load. */
final class PyTorchRanks {

    private static final String CACHE = "org.bytedeco.javacpp.cachedir";

    private PyTorchRanks() {}

    static RankProcesses.Builder in(Path folder) {
        return RankProcesses.in(folder)
                .jvm("-XX:TieredStopAtLevel=1", "-D" + CACHE + "=" + System.getProperty(CACHE))
                .environment("OPENBLAS_NUM_THREADS", "1") // its threads compete for the cores even if libtorch has one
                .limit(Duration.ofSeconds(150));
    }
}
