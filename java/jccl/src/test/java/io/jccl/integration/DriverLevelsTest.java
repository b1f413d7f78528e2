package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.UniqueId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks on emulated GPUs with older drivers: JCCL logs which features it does without, or refuses the driver. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DriverLevelsTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final String STAGED = "share a GPU from different processes without an MPS server";

    @TempDir
    Path folder;

    /**
     * Runs every collective on two processes that share a GPU under an MPS server. Checks that they succeed or fail as
     * expected, and returns the output of rank 0.
     */
    private String run(boolean succeeds, String library, String... variables) throws Exception {
        List<String> environment = new ArrayList<>(List.of("env", "JCCL_EMULATED_MPS=1"));
        environment.addAll(List.of(variables));
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 2, rank -> environment, "device", library, "auto")) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT) == 0)
                        .as(ranks.allOutput())
                        .isEqualTo(succeeds);
            }
            return ranks.output(0);
        }
    }

    @ParameterizedTest
    @CsvSource({"525, true", "550, false", "580, false"})
    void featuresThatADriverLacksAreLoggedAndNotUsed(String driver, boolean lacks) throws Exception {
        String output = run(true, EmulatedGpus.library(), "JCCL_EMULATED_DRIVER=" + driver);
        assertThat(output)
                .contains("(driver " + driver + "), kernels of CUDA 12.0")
                .contains("RESULT ok");
        assertThat(output.contains("; without cuFuncLoad of CUDA 12.4 (driver 550) kernels are loaded by"))
                .as(output)
                .isEqualTo(lacks);
        assertThat(output.contains("; without CU_DEVICE_ATTRIBUTE_MPS_ENABLED of CUDA 12.3 (driver 545) an MPS"))
                .as(output)
                .isEqualTo(lacks);
        assertThat(output.contains(STAGED)).as(output).isEqualTo(lacks);
    }

    @ParameterizedTest
    @ValueSource(strings = {"525", "550"})
    void kernelsOfALaterCudaAreCompiledFromPtx(String driver) throws Exception {
        String output = run(
                true,
                EmulatedGpus.library(),
                "JCCL_EMULATED_DRIVER=" + driver,
                "JCCL_EMULATED_KERNELS=13000",
                "JCCL_EMULATED_JIT_MILLIS=300",
                "CUDA_CACHE_PATH=/cache/of/driver");
        assertThat(output)
                .contains(", which the driver compiles from PTX")
                .contains("device=0: the driver is older than this build's kernels and compiles them")
                .contains("cache=/cache/of/driver")
                .containsPattern("device=0: the driver has compiled the kernels in seconds=[1-9]")
                .contains("RESULT ok");
    }

    @ParameterizedTest
    @ValueSource(strings = {"525", "550"})
    void kernelsOfALaterCudaWithoutPtxAreRefused(String driver) throws Exception {
        assertThat(run(
                        false,
                        EmulatedGpus.library(),
                        "JCCL_EMULATED_DRIVER=" + driver,
                        "JCCL_EMULATED_KERNELS=13000",
                        "JCCL_EMULATED_PTX=off"))
                .contains(
                        "(driver " + driver + "), and this build's kernels are of CUDA 13.0, expected a driver for CUDA"
                                + " 13.0 (driver 580) or later: install one");
    }

    /**
     * Uses the library of the jar, which opens the emulated driver as it opens a real one. The driver emulates the
     * kernels that the library contains.
     */
    @Test
    void theLibraryOfThisBuildRunsOverADriver() throws Exception {
        assumeTrue(
                getClass().getResource("/META-INF/native/linux-x86_64/libjccl_cuda.so") != null,
                "this build has no libjccl_cuda.so: -Djccl.cuda=ON builds it where there is nvcc");
        String driver = System.getProperty("jccl.emulated.libcuda", "none");
        assumeTrue(Files.exists(Path.of(driver, "libcuda.so.1")), driver + " was not built");
        assertThat(run(true, RankMain.OWN_LIBRARY, "LD_LIBRARY_PATH=" + driver, "JCCL_EMULATED_CHIP=A100"))
                .contains("driver for CUDA 13.0 (driver 580), kernels of CUDA 1")
                .doesNotContain(STAGED)
                .contains("RESULT ok");
    }
}
