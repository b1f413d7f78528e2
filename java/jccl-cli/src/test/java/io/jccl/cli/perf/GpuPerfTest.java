package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.jccl.cli.Main;
import io.jccl.cli.output.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs {@code jccl perf} on the memory of an emulated GPU that the ranks share, also with a library in place of NCCL
 * whose operations run on that GPU.
 */
@Timeout(180)
class GpuPerfTest {

    private static final Path EMULATED = Path.of(System.getProperty("jccl.emulated.cuda", "none"));
    private static final Path BINDING = EMULATED.resolveSibling("libjccl_nccl.so");
    private static final String NEW_NCCL = "fake-nccl-23003/libnccl.so.2";
    private static final String OLD_NCCL = "fake-nccl-22705/libnccl.so.2";

    @TempDir
    Path directory;

    @BeforeEach
    void builtLibraries() {
        assumeTrue(Files.exists(EMULATED), EMULATED + " was not built");
    }

    private record Result(int status, String out, String err) {}

    private Result run(Map<String, String> environment, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(RankProcesses.nativeAccess());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"));
        command.addAll(List.of("-Djccl.cuda.path=" + EMULATED, "-D" + RankProcesses.NCCL_BINDING + "=" + BINDING));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(List.of("perf", "--memory", "device", "--iters", "20", "--warmup", "1", "--json", "-"));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.matches("(JCCL|NCCL)_.*|RANK|WORLD_SIZE"));
        builder.environment().putAll(Map.of("JCCL_EMULATED_GPUS", "1", "JCCL_NTHREADS", "64"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        return new Result(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    private List<JsonNode> rows(Result result) throws IOException {
        assertThat(result.status()).as(result.err()).isEqualTo(ExitCode.SUCCESS);
        JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(Files.readString(Path.of("../../docs/schema/perf.schema.json")));
        List<JsonNode> rows = new ArrayList<>();
        for (String line : result.out().split("\n")) {
            JsonNode row = new ObjectMapper().readTree(line);
            assertThat(schema.validate(row)).as(line).isEmpty();
            rows.add(row);
        }
        return rows;
    }

    @ParameterizedTest
    @CsvSource({
        "all_reduce, await",
        "all_reduce, stream",
        "all_reduce, graph",
        "all_to_all_v, stream",
        "reduce_scatter, graph",
        "barrier, graph"
    })
    void operationsOfEveryModeHaveRightResultsAndTimes(String collective, String mode)
            throws IOException, InterruptedException {
        List<JsonNode> rows = rows(
                run(Map.of(), collective, "--threads", "-b", "64", "-e", "1K", "-f", "16", "--check", "--mode", mode));
        assertThat(rows).isNotEmpty().allSatisfy(row -> {
            assertThat(row.at("/run/mode").asText()).isEqualTo(mode);
            assertThat(row.at("/out_of_place/wrong").asInt(-1)).isZero();
            assertThat(row.at("/out_of_place/p50_us").asDouble()).isPositive();
            assertThat(row.has("peer")).isFalse();
        });
    }

    @ParameterizedTest
    @CsvSource({
        "all_reduce, await",
        "reduce, stream",
        "broadcast, graph",
        "all_gather, stream",
        "reduce_scatter, graph",
        "all_to_all, graph",
        "scatter, await",
        "gather, stream"
    })
    void theOtherLibraryHasRightResultsOnTheSameBuffers(String collective, String mode)
            throws IOException, InterruptedException {
        assumeTrue(Files.exists(BINDING), BINDING + " was not built");
        List<JsonNode> rows = rows(runWith(NEW_NCCL, Map.of(), collective, "-n", "3", "--mode", mode, "--check"));
        assertThat(rows).hasSize(1).allSatisfy(row -> {
            assertThat(row.at("/peer/version").asText()).isEqualTo("2.30.3");
            assertThat(row.at("/peer/out_of_place/wrong").asInt(-1)).isZero();
            assertThat(row.at("/peer/out_of_place_ratio").asDouble())
                    .isCloseTo(
                            row.at("/out_of_place/p50_us").asDouble()
                                    / row.at("/peer/out_of_place/p50_us").asDouble(),
                            Percentage.withPercentage(1));
        });
    }

    private Result runWith(String library, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--threads", "-b", "512", "-e", "512", "--peer", "nccl", "--peer-library"));
        all.add(EMULATED.resolveSibling(library).toString());
        return run(environment, all.toArray(String[]::new));
    }

    @Test
    void anOlderVersionIsComparedByOneRankOnly() throws IOException, InterruptedException {
        assumeTrue(Files.exists(BINDING), BINDING + " was not built");
        Result two = runWith(OLD_NCCL, Map.of(), "all_reduce", "-n", "2");
        assertThat(two.status()).isEqualTo(ExitCode.USAGE);
        assertThat(two.err()).contains("version=2.27.5 ranks of a GPU=2: expected version 2.30 or later", "(-n 1)");
        assertThat(rows(runWith(OLD_NCCL, Map.of(), "all_reduce", "-n", "1", "--check")))
                .hasSize(1)
                .allMatch(row -> row.at("/peer/version").asText().equals("2.27.5"));
    }

    @Test
    void aFailureOfTheOtherLibraryEndsTheRunWithItsReason() throws IOException, InterruptedException {
        assumeTrue(Files.exists(BINDING), BINDING + " was not built");
        Result failed = runWith(NEW_NCCL, Map.of("FAKE_NCCL_FAILS", "1"), "all_reduce", "-n", "2");
        assertThat(failed.status()).isEqualTo(ExitCode.FAILURE);
        assertThat(failed.err())
                .contains(
                        "cannot make a communicator: ncclCommInitRank: unhandled system error (2)", "NCCL_DEBUG=INFO");
        assertThat(runWith("no-such/libnccl.so.2", Map.of(), "all_reduce", "-n", "2")
                        .err())
                .contains("no-such/libnccl.so.2: cannot open shared object file", "--peer-library");
    }

    @Test
    void processesThatShareAGpuAreNotComparedWithTheOtherLibrary() throws IOException, InterruptedException {
        assumeTrue(Files.exists(BINDING), BINDING + " was not built");
        Result result = run(
                Map.of(),
                "all_reduce",
                "-n",
                "2",
                "-e",
                "8",
                "--peer",
                "nccl",
                "--peer-library",
                EMULATED.resolveSibling(NEW_NCCL).toString());
        assertThat(result.status()).isEqualTo(ExitCode.USAGE);
        assertThat(result.err()).contains("ranks=[0, 1]: processes share a GPU", "add --threads");
    }
}
