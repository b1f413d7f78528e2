package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
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

/** What a bundle's gpu-verify runs, on emulated GPUs. */
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

    /** The library of mutated kernels, or another in its place. */
    private void mutated(Path library) throws IOException {
        Files.createSymbolicLink(bundle.resolve("test-lib/libjccl_cuda_mutated.so"), library);
    }

    private int run(Map<String, String> environment, String... further) throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>(
                List.of("gpu-verify", "--quick", "--bundle", bundle.toString(), "--report", report.toString()));
        arguments.addAll(List.of(further));
        ProcessBuilder builder = CommandProcess.builder(
                        directory, List.of("-Djccl.cuda.path=" + EMULATED), arguments.toArray(String[]::new))
                .redirectOutput(directory.resolve("out").toFile());
        builder.environment().put("JCCL_EMULATED_GPUS", "1");
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertThat(process.waitFor(360, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
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
    void mutationsAreNoticedAndOperationsMeasuredBesideNccl() throws IOException, InterruptedException {
        mutated(MUTATED);
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

        assertThat(run(Map.of("PATH", path, "JCCL_EMULATED_GPUS", "2"))).isZero();

        JsonNode json = validReport();
        assertThat(json.path("result").asText()).isEqualTo("ok");
        assertThat(json.path("mutations")).hasSize(12).allMatch(one -> one.path("noticed")
                .asBoolean());
        assertThat(json.path("machine").path("used").asInt()).isEqualTo(2);
        assertThat(json.path("copies"))
                .hasSize(4)
                .allMatch(one -> one.path("gbps").asDouble() > 0);
        assertThat(json.path("measurements"))
                .hasSize(6)
                .allMatch(one -> one.path("wrong").asInt(-1) == 0
                        && one.path("time_us").asDouble() > 0
                        && one.path("share_of_copy").isNumber());
        assertThat(json.path("operations_checked").asInt()).isEqualTo(3 * 3 * 2 + 3 * 3);
        assertThat(json.path("nccl")).hasSize(1);
        assertThat(Files.readString(directory.resolve("nccl-arguments"))).contains("-g 2");
        assertThat(step(json, "NCCL: all_gather_perf").path("outcome").asText()).isEqualTo("not_run");
        assertThat(step(json, "tests tagged gpu").path("reason").asText()).contains("jccl-tests.jar is not there");
        assertThat(Files.readString(report.resolve("report.txt")))
                .containsPattern("all_reduce +2 +128 .* 7\\.2500 +0\\.0300")
                .contains("result: ok");
    }

    /** Kernels that go right in the place of those that go wrong: nothing is there to be noticed. */
    @Test
    void aMutationThatIsNotNoticedFailsTheRun() throws IOException, InterruptedException {
        mutated(EMULATED);
        assertThat(run(Map.of())).isEqualTo(1);
        JsonNode json = validReport();
        assertThat(json.path("result").asText()).isEqualTo("failed");
        assertThat(step(json, "mutations").path("reason").asText())
                .contains("the self-test of connections did not notice", "the check of results did not notice")
                .contains("the time-out did not notice: no slot is written or published, ll128");
        assertThat(json.path("mutations"))
                .hasSize(12)
                .filteredOn(one -> one.path("noticed").asBoolean())
                .hasSize(3)
                .allMatch(one -> one.path("expected").asText().equals("nothing"));
    }

    @Test
    void stepsWithoutTimeAreNamed() throws IOException, InterruptedException {
        mutated(MUTATED);
        assertThat(run(Map.of(), "--budget", "1")).isEqualTo(1);
        JsonNode json = validReport();
        assertThat(step(json, "mutations").path("outcome").asText()).isEqualTo("failed");
        assertThat(step(json, "all_reduce").path("outcome").asText()).isEqualTo("not_run");
        assertThat(step(json, "all_reduce").path("reason").asText()).contains("give it more with --budget");
    }

    @Test
    void moreGpusThanThereAreAreRefused() throws IOException, InterruptedException {
        assertThat(run(Map.of(), "--gpus", "3")).isEqualTo(2);
        assertThat(Files.readString(directory.resolve("err"))).contains("gpus=3: expected 1 to 1");
    }
}
