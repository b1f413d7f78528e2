package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.nativelib.CudaLoader;
import io.jccl.testing.RequiresGpu;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link DeviceScenarios} on the GPUs of this host. Several ranks, threads or processes, share a GPU. */
@RequiresGpu
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceOnGpuTest extends DeviceScenarios {

    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    /** Skips the test in a process that has loaded the library of emulated GPUs, since it cannot load another. */
    static void requireLibraryOfThisBuild() {
        assumeTrue(CudaLoader.isOfThisBuild(), "this process emulates its GPUs");
    }

    @BeforeEach
    void onlyWithTheLibraryOfThisBuild() {
        requireLibraryOfThisBuild();
    }

    @Override
    CommunicatorConfig.Builder config() {
        return LocalRanks.config().device(0);
    }

    @Override
    Duration abortLimit() {
        return Duration.ofSeconds(2);
    }

    @Override
    int tortureRounds() {
        return 500;
    }

    @ParameterizedTest
    @CsvSource({
        "1, ring, simple",
        "2, ring, simple",
        "2, ring, ll",
        "2, ring, ll128",
        "3, tree, simple",
        "4, tree, ll",
        "4, ring, ll128",
        "8, ring, simple",
        "8, tree, ll128"
    })
    void everyCollectiveGivesTheSameBitsAsInHostMemory(int size, String algorithm, String protocol) {
        DeviceCollectives.compare(size, 1, algorithm, protocol);
    }

    @ParameterizedTest
    @CsvSource({"2, ring, simple", "4, tree, ll", "4, ring, simple"})
    void everyCollectiveAcrossGpusGivesTheSameBitsAsInHostMemory(int size, String algorithm, String protocol) {
        int devices = CudaLoader.devices();
        assumeTrue(devices > 1, "devices=" + devices + ": needs two");
        DeviceCollectives.compare(size, devices, algorithm, protocol);
    }

    /**
     * Tests one rank, whose operations the host executes. Several ranks as threads would wait in streams of one
     * process, and such streams can share a queue.
     */
    @Test
    void everyStagedCollectiveGivesTheSameBitsAsInHostMemory() {
        DeviceCollectives.compare(
                1, 1, "ring", "simple", (rank, config) -> config.setting("JCCL_GPU_HOST_STAGING", "on"));
    }

    /**
     * The processes share a GPU. With {@code auto}, host staging is used if this host needs it; with {@code off},
     * kernels always wait for each other.
     */
    @ParameterizedTest
    @CsvSource({"2, auto", "3, auto", "2, off"})
    void processesOnOneGpuGetTheSameBitsAsInHostMemory(int size, String staged) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, size, "device", RankMain.OWN_LIBRARY, staged)) {
            for (int rank = 0; rank < size; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
        }
    }
}
