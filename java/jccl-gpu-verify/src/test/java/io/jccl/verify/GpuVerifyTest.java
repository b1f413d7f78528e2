package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.jccl.cli.perf.RankProcesses;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@code gpu-verify} with the files of a bundle, on emulated GPUs. */
@Timeout(400)
class GpuVerifyTest {

    private static final Path EMULATED = Path.of(System.getProperty("jccl.emulated.cuda", "none"));
    private static final Path MUTATED = EMULATED.resolveSibling("libjccl_cuda_emulated_mutated.so");

    @TempDir
    Path directory;

    private Path bundle;
    private Path report;

    @BeforeEach
    void bundle() throws IOException {
        assumeTrue(Files.exists(MUTATED), MUTATED + " was not built");
        bundle = directory.resolve("bundle");
        report = directory.resolve("report");
        Files.createDirectories(bundle.resolve("test-lib"));
    }

    /** Links {@code library} into the bundle, where the library of mutated kernels is expected. */
    private void installMutatedKernels(Path library) throws IOException {
        Files.createSymbolicLink(bundle.resolve("test-lib/libjccl_cuda_mutated.so"), library);
    }

    private int run(Map<String, String> environment, String... further) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions());
        command.add("-Djccl.cuda.path=" + EMULATED);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), GpuVerify.class.getName()));
        command.addAll(List.of("--quick", "--bundle", bundle.toString(), "--report", report.toString()));
        command.addAll(List.of(further));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(directory.resolve("out").toFile())
                .redirectError(directory.resolve("err").toFile());
        // Tests must not depend on the settings of the build or on a launcher that started the build.
        builder.environment()
                .keySet()
                .removeIf(name -> name.matches("(JCCL|NCCL|OMPI|PMIX?|SLURM)_.*|RANK|WORLD_SIZE"));
        builder.environment().put("JCCL_JAVA_OPTS", String.join(" ", jvmOptions()));
        builder.environment().put("JCCL_EMULATED_GPUS", "1");
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertThat(process.waitFor(360, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    /**
     * Returns the options of the JVMs of gpu-verify and its ranks: without the second compiler (C2), because these JVMs
     * end before it pays off, and with {@code -Xcheck:jni} if this JVM has it.
     */
    private static List<String> jvmOptions() {
        List<String> options = new ArrayList<>(RankProcesses.nativeAccess());
        options.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"));
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter("-Xcheck:jni"::equals)
                .forEach(options::add);
        return options;
    }

    private JsonNode validReport() throws IOException {
        JsonNode json =
                new ObjectMapper().readTree(report.resolve("report.json").toFile());
        assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                        .getSchema(Files.readString(Path.of("../../docs/schema/gpu-verify.schema.json")))
                        .validate(json))
                .as(json.toPrettyString())
                .isEmpty();
        return json;
    }

    private static JsonNode step(JsonNode json, String name) {
        for (JsonNode step : json.path("steps")) {
            if (step.path("name").asText().startsWith(name)) {
                return step;
            }
        }
        throw new AssertionError(name + " is not in " + json.path("steps"));
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

        assertThat(run(Map.of("PATH", path, "JCCL_EMULATED_GPUS", "2", "JCCL_EMULATED_SHARING", "descriptors")))
                .isZero();

        JsonNode json = validReport();
        assertThat(json.path("result").asText()).isEqualTo("ok");
        assertThat(json.path("mutations")).hasSize(12).allMatch(one -> one.path("noticed")
                .asBoolean());
        assertThat(json.path("machine").path("used").asInt()).isEqualTo(2);
        assertThat(json.path("copies"))
                .hasSize(4)
                .allMatch(one -> one.path("gbps").asDouble() > 0);
        assertThat(json.path("measurements"))
                .hasSize(9)
                .allMatch(one -> one.path("wrong").asInt(-1) == 0
                        && one.path("time_us").asDouble() > 0
                        && one.path("share_of_copy").isNumber());
        assertThat(json.path("operations_checked").asInt()).isEqualTo(2 * 3 * 3 * 2 + 3 * 3);
        assertThat(json.path("nccl")).hasSize(1);
        assertThat(Files.readString(directory.resolve("nccl-arguments"))).contains("-g 2");
        assertThat(step(json, "NCCL: missing programs").path("outcome").asText())
                .isEqualTo("not_run");
        assertThat(step(json, "tests tagged gpu").path("reason").asText()).contains("jccl-tests.jar is not there");
        assertThat(Files.readString(report.resolve("report.txt")))
                .containsPattern("all_reduce +2 +processes +128 .* 7\\.2500 +0\\.0300")
                .containsPattern("result: ok; steps not run: \\d");
    }

    @Test
    void stepsForWhichTheBudgetIsTooSmallAreNamed() throws IOException, InterruptedException {
        installMutatedKernels(MUTATED);
        assertThat(run(Map.of(), "--budget", "1")).isEqualTo(1);
        JsonNode json = validReport();
        assertThat(step(json, "mutations").path("outcome").asText()).isEqualTo("failed");
        assertThat(step(json, "all_reduce").path("outcome").asText()).isEqualTo("not_run");
        assertThat(step(json, "all_reduce").path("reason").asText()).contains("give it more with --budget");
    }

    @Test
    void moreGpusThanTheHostHasAreRefused() throws IOException, InterruptedException {
        assertThat(run(Map.of(), "--gpus", "3")).isEqualTo(2);
        assertThat(Files.readString(directory.resolve("err"))).contains("gpus=3: expected 1 to 1");
    }
}
