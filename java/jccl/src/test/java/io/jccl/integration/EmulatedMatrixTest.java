package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.UniqueId;
import io.jccl.testing.Seeds;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link DeviceMatrix} on emulated GPUs. Ranks are threads, processes, or threads of several processes. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedMatrixTest {

    private static final Duration LIMIT = Duration.ofSeconds(200);

    @TempDir
    Path folder;

    @ParameterizedTest(name = "processes={0} threads={1} gpus={2} symmetric={3}")
    @CsvSource({
        "1, 8, 4, false",
        "8, 1, 8, false",
        "4, 2, 8, false",
        "1, 8, 4, true",
        "1, 8, 8, true",
        "8, 1, 8, true",
        "4, 2, 8, true"
    })
    void everyCollectiveGivesTheSameBitsAsInHostMemory(int processes, int threads, int gpus, boolean isSymmetric)
            throws Exception {
        assumeTrue(
                processes < 8 || Seeds.of(100) >= 100,
                "only every night: JVMs take longer to start than to communicate");
        List<String> environment =
                List.of("env", "JCCL_EMULATED_GPUS=" + gpus, "JCCL_EMULATED_SHARING=descriptors,handles");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                processes,
                process -> environment,
                "device-matrix",
                EmulatedGpus.library(),
                "" + threads,
                "" + gpus,
                "" + (Seeds.of(100) >= 100 ? 1 : 10),
                "" + isSymmetric)) {
            for (int process = 0; process < processes; process++) {
                assertThat(ranks.awaitExit(process, LIMIT))
                        .as(ranks.allOutput())
                        .isZero();
                assertThat(ranks.output(process)).contains("RESULT ok");
            }
        }
    }
}
