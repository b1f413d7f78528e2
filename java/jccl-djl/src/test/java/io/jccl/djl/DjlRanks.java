package io.jccl.djl;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.time.Duration;

/** Ranks with PyTorch, which a busy host takes long to load. */
final class DjlRanks {

    private DjlRanks() {}

    static RankProcesses.Builder in(Path folder) {
        return RankProcesses.in(folder)
                .jvm(
                        "-XX:TieredStopAtLevel=1",
                        "-Dai.djl.offline=true",
                        "-DDJL_CACHE_DIR=" + System.getProperty("DJL_CACHE_DIR"))
                .environment("OMP_NUM_THREADS", "1")
                .limit(Duration.ofSeconds(150));
    }
}
