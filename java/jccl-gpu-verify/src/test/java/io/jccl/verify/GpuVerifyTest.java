package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@code gpu-verify} with the files of a bundle, on emulated GPUs. */
@Timeout(400)
class GpuVerifyTest {

    private static final Path MUTATED = VerifyProcess.EMULATED.resolveSibling("libjccl_cuda_emulated_mutated.so");

    @TempDir
    Path directory;

    private VerifyProcess process;

    @BeforeEach
    void makeBundle() throws IOException {
        assumeTrue(Files.exists(MUTATED), MUTATED + " was not built");
        process = new VerifyProcess(directory);
    }

    /** Links {@code library} into the bundle, where the library of mutated kernels is expected. */
    private void installMutatedKernels(Path library) throws IOException {
        Files.createSymbolicLink(process.bundle().resolve("test-lib/libjccl_cuda_mutated.so"), library);
    }

    @Test
    void mutationsAreNoticedAndOperationsAreComparedWithNccl() throws IOException, InterruptedException {
        installMutatedKernels(MUTATED);
        Path program = directory.resolve("all_reduce_perf");
        Files.writeString(
                program,
                """
                #!/bin/sh
                echo '#       size         count      type   redop    root     time   algbw   busbw #wrong'
                echo "$@" >'%s'
                echo '         128            32     float     sum      -1     7.25    0.02    0.03      0     7.50    0.02    0.03      0'
                """
                        .formatted(directory.resolve("nccl-arguments")));
        assertThat(program.toFile().setExecutable(true)).isTrue();
        String path = directory + ":" + System.getenv("PATH");

        assertThat(process.run(Map.of("PATH", path, "JCCL_EMULATED_GPUS", "2", "JCCL_EMULATED_SHARING", "descriptors")))
                .isZero();

        JsonNode json = process.validReport();
        assertThat(json.path("result").asText()).isEqualTo("ok");
        assertThat(json.path("mutations")).hasSize(12).allMatch(one -> one.path("noticed")
                .asBoolean());
        assertThat(json.path("machine").path("used").asInt()).isEqualTo(2);
        assertThat(json.path("copies"))
                .hasSize(4)
                .allMatch(one -> one.path("gbps").asDouble() > 0);
        assertThat(json.path("measurements"))
                .hasSize(15)
                .allMatch(one -> one.path("wrong").asInt(-1) == 0
                        && one.path("time_us").asDouble() > 0
                        && one.path("share_of_copy").isNumber());
        assertThat(json.path("operations_checked").asInt()).isEqualTo(4 * 3 * 3 * 2 + 3 * 3);
        assertThat(json.path("nccl")).hasSize(1);
        assertThat(Files.readString(directory.resolve("nccl-arguments"))).contains("-g 2");
        assertThat(process.step(json, "NCCL: missing programs").path("outcome").asText())
                .isEqualTo("not_run");
        assertThat(process.step(json, "tests tagged gpu").path("reason").asText())
                .contains("jccl-tests.jar is not there");
        assertThat(Files.readString(process.report().resolve("report.txt")))
                .containsPattern("all_reduce +2 +processes +await +128 .* 7\\.2500 +0\\.0300")
                .containsPattern("result: ok; steps not run: \\d");
    }

    @Test
    void stepsForWhichTheBudgetIsTooSmallAreNamed() throws IOException, InterruptedException {
        installMutatedKernels(MUTATED);
        assertThat(process.run(Map.of(), "--budget", "1")).isEqualTo(1);
        JsonNode json = process.validReport();
        assertThat(process.step(json, "mutations").path("outcome").asText()).isEqualTo("failed");
        assertThat(process.step(json, "all_reduce").path("outcome").asText()).isEqualTo("not_run");
        assertThat(process.step(json, "all_reduce").path("reason").asText()).contains("give it more with --budget");
    }

    @Test
    void aPartThatDoesNotExistIsRefused() throws IOException, InterruptedException {
        assertThat(process.run(Map.of(), "--part", "third")).isEqualTo(2);
        assertThat(Files.readString(directory.resolve("err"))).contains("part=\"third\": expected first or second");
    }

    @Test
    void moreGpusThanTheHostHasAreRefused() throws IOException, InterruptedException {
        assertThat(process.run(Map.of(), "--gpus", "3")).isEqualTo(2);
        assertThat(Files.readString(directory.resolve("err"))).contains("gpus=3: expected 1 to 1");
    }
}
