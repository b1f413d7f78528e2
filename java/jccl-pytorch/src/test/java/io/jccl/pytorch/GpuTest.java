package io.jccl.pytorch;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.testing.RankProcesses;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Checks the output of two processes that have run all {@link GpuScenarios}: once with kernels, once with operations that the
 * host executes. They use emulated GPUs, and are skipped if the emulator was not built. With {@code -Djccl.pytorch.gpu=true}
 * they share a real GPU.
 */
class GpuTest {

    private static final Map<String, String[]> OUTPUTS = new LinkedHashMap<>();

    @BeforeAll
    @Timeout(value = 4, unit = TimeUnit.MINUTES)
    static void run(@TempDir Path folder) throws Exception {
        boolean real = Boolean.getBoolean(TestGpu.REAL);
        Path library = Path.of(System.getProperty("jccl.emulated.cuda", "none"));
        assumeTrue(real || Files.exists(library), library + " was not built");
        for (String staging : new String[] {"off", "on"}) {
            RankProcesses.Builder ranks = PyTorchRanks.in(folder)
                    .environment("JCCL_DEVICE", "0")
                    .environment("JCCL_GPU_HOST_STAGING", staging);
            if (real) {
                ranks.jvm("-D" + TestGpu.REAL + "=true")
                        .environment("CUDA_DEVICE_MAX_CONNECTIONS", "32"); // JCCL sets it, but libtorch begins before
            } else {
                ranks.jvm("-Djccl.cuda.path=" + library).environment("JCCL_NTHREADS", "64");
            }
            OUTPUTS.put(staging, ranks.run(2, GpuScenarios.class).toArray(String[]::new));
        }
    }

    @ParameterizedTest(name = "{1}, host staging {0}")
    @CsvSource({
        "off, stream",
        "off, every operation",
        "off, freed tensors",
        "off, training",
        "off, training with buffers",
        "off, training in half precision",
        "off, overlap",
        "off, shared state",
        "off, refusals",
        "on, stream",
        "on, every operation",
        "on, freed tensors",
        "on, training",
        "on, training with buffers",
        "on, training in half precision",
        "on, overlap",
        "on, shared state",
        "on, refusals"
    })
    void scenarioPassesOnBothRanks(String staging, String name) {
        Scenarios.requirePassed(OUTPUTS.get(staging), name);
    }
}
