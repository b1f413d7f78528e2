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

/**
 * Communicators with more ranks than a block of a kernel has connections for. Ranks are threads of one process, and share
 * eight emulated GPUs of a chip on which the kernels of nine ranks run together.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedManyRanksTest {

    private static final Duration LIMIT = Duration.ofSeconds(200);
    private static final int GPUS = 8;

    @TempDir
    Path folder;

    /**
     * A thread of each rank polls its connections to other hosts, so hosts of eight keep two cores busy for most of a
     * minute.
     */
    @ParameterizedTest(name = "size={0} ranksOfHost={1} all={2}")
    @CsvSource({"66, 66, true, false", "66, 64, false, false", "66, 64, true, true", "72, 8, false, true"})
    void collectivesOfManyRanksGiveTheSameBitsAsInHostMemory(int size, int ranksOfHost, boolean all, boolean nightly)
            throws Exception {
        assumeTrue(!nightly || Seeds.of(100) >= 100, "only every night: takes too long");
        List<String> environment = List.of(
                "env", "JCCL_EMULATED_GPUS=" + GPUS, "JCCL_EMULATED_CHIP=H100", "CUDA_DEVICE_MAX_CONNECTIONS=32");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                1,
                process -> environment,
                "many-ranks",
                EmulatedGpus.library(),
                Integer.toString(size),
                Integer.toString(ranksOfHost),
                Integer.toString(GPUS),
                Boolean.toString(all))) {
            assertThat(ranks.awaitExit(0, LIMIT)).as(ranks.allOutput()).isZero();
            assertThat(ranks.output(0)).contains("RESULT ok").contains("kernels work in place with at most 64 ranks");
        }
    }
}
