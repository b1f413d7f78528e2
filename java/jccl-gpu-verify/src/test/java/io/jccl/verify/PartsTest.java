package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rehearses both parts for a lent GPU on an emulated one. */
@Timeout(400)
class PartsTest {

    private static final Path BENCHMARK = VerifyProcess.EMULATED.resolveSibling("gpu_bench_emulated");
    private static final Path BINDING = VerifyProcess.EMULATED.resolveSibling("libjccl_nccl.so");
    private static final Path NCCL = VerifyProcess.EMULATED.resolveSibling("fake-nccl-23003/libnccl.so.2");
    private static final Path OLD_NCCL = VerifyProcess.EMULATED.resolveSibling("fake-nccl-22705/libnccl.so.2");

    private static final int MAX_FILES = 8;
    private static final long MAX_FILE_BYTES = 16L << 20;

    @TempDir
    Path directory;

    private VerifyProcess process;
    private Path bench;

    @BeforeEach
    void bundle() throws IOException {
        assumeTrue(Files.exists(BENCHMARK) && Files.exists(BINDING), BENCHMARK + " was not built");
        process = new VerifyProcess(directory);
        bench = Files.createDirectories(process.bundle().resolve("bench"));
        Files.createSymbolicLink(bench.resolve("libjccl_nccl.so"), BINDING);
    }

    private void useBenchmark() throws IOException {
        Files.createSymbolicLink(bench.resolve("gpu_bench"), BENCHMARK);
    }

    private int run(Map<String, String> environment, String... further) throws IOException, InterruptedException {
        return process.run(environment, further);
    }

    private static Set<String> programs(JsonNode report) {
        Set<String> programs = new HashSet<>();
        report.path("records")
                .forEach(record -> programs.add(record.at("/row/program").asText()));
        return programs;
    }

    private static Stream<JsonNode> rowsOf(JsonNode report, String step) {
        return StreamSupport.stream(report.path("records").spliterator(), false)
                .filter(record -> record.path("step").asText().startsWith(step))
                .map(record -> record.path("row"));
    }

    @Test
    void theFirstPartMeasuresEverythingWithinItsLimits() throws IOException, InterruptedException {
        useBenchmark();
        assertThat(run(Map.of("PATH", "/usr/bin:/bin"), "--part", "first", "--nccl", NCCL.toString()))
                .as(process.errors())
                .isZero();
        JsonNode report = process.validReport();
        Map<String, Duration> plan = Parts.plan(Parts.Part.FIRST);
        assertThat(Parts.limit(Parts.Part.FIRST)).isLessThanOrEqualTo(Duration.ofMinutes(7));
        double seconds = 0;
        for (JsonNode step : report.path("steps")) {
            seconds += step.path("seconds").asDouble();
            Duration limit = plan.getOrDefault(step.path("name").asText(), plan.get("comparison with NCCL"));
            assertThat(step.path("seconds").asDouble()).isLessThanOrEqualTo(limit.toSeconds());
        }
        assertThat(seconds).isLessThanOrEqualTo(Parts.limit(Parts.Part.FIRST).toSeconds());
        assertThat(programs(report)).contains("facts", "driver-costs", "loop", "stamped", "sweeps");
        assertThat(rowsOf(report, "multicast-one"))
                .anyMatch(row -> row.path("type").asText().equals("uint64")
                        && row.path("wrong").asText().equals("false"));
        assertThat(rowsOf(report, "compare-all_reduce"))
                .hasSize(3 * 3)
                .anyMatch(row -> row.at("/run/mode").asText().equals("graph"))
                .allMatch(row -> row.at("/peer/version").asText().equals("2.30.3")
                        && row.at("/peer/out_of_place_ratio").asDouble() > 0);
        assertThat(rowsOf(report, "stamped"))
                .isNotEmpty()
                .allMatch(row -> row.path("kernel_us").asDouble() > 0);
        assertThat(rowsOf(report, "sweeps"))
                .anyMatch(row -> row.path("sweep").asText().equals("all_to_all")
                        && row.path("p50_us").asDouble() > 0);
        assertThat(process.step(report, "profile of a kernel").path("reason").asText())
                .contains("there is no ncu");
        try (Stream<Path> files = Files.list(process.report())) {
            assertThat(files.toList())
                    .hasSizeLessThanOrEqualTo(MAX_FILES)
                    .allMatch(file -> file.toFile().length() < MAX_FILE_BYTES);
        }
    }

    @Test
    void aStepThatHangsIsEndedAndTheNextOnesRun() throws IOException, InterruptedException {
        Path hangs = bench.resolve("gpu_bench");
        Files.writeString(
                hangs,
                """
                #!/bin/sh
                if [ "$1" = multicast-one ]; then echo '{"program":"multicast-one","step":"bind"}'; sleep 600; fi
                exec '%s' "$@"
                """
                        .formatted(BENCHMARK));
        assertThat(hangs.toFile().setExecutable(true)).isTrue();
        assertThat(run(Map.of("PATH", "/usr/bin:/bin"), "--part", "first", "--nccl", NCCL.toString()))
                .isEqualTo(1);
        JsonNode report = process.validReport();
        assertThat(process.step(report, "multicast-one").path("outcome").asText())
                .isEqualTo("failed");
        assertThat(process.step(report, "multicast-one").path("reason").asText())
                .contains("its time was over");
        assertThat(rowsOf(report, "multicast-one")).hasSize(1);
        assertThat(process.step(report, "sweeps").path("outcome").asText()).isEqualTo("ok");
    }

    @Test
    void withAnOldNcclTheComparisonSaysWhyAndJcclIsMeasured() throws IOException, InterruptedException {
        useBenchmark();
        assertThat(run(Map.of("PATH", "/usr/bin:/bin"), "--part", "first", "--nccl", OLD_NCCL.toString()))
                .isZero();
        JsonNode report = process.validReport();
        assertThat(process.step(report, "comparison of two ranks with NCCL")
                        .path("reason")
                        .asText())
                .contains("version=2.27.5 ranks of a GPU=2", "expected version 2.30 or later");
        assertThat(rowsOf(report, "compare-all_reduce")).hasSize(3 * 3).allMatch(row -> row.path("peer")
                .isMissingNode());
        assertThat(rowsOf(report, "compare-one-rank"))
                .hasSize(3 * 3)
                .allMatch(row -> row.at("/peer/version").asText().equals("2.27.5"));
    }

    /** The report of a run that is killed has the steps that had ended. */
    @Test
    void resultsAreWrittenAfterEachStep() throws IOException, InterruptedException {
        useBenchmark();
        Process running = process.start(Map.of(), "--part", "first", "--nccl", NCCL.toString());
        try {
            Path file = process.report().resolve("report.json");
            long end = System.nanoTime() + Duration.ofSeconds(120).toNanos();
            while (!(Files.exists(file) && Files.readString(file).contains("driver-costs"))
                    && System.nanoTime() < end) {
                Thread.sleep(20);
            }
            running.destroyForcibly().waitFor();
            assertThat(programs(process.validReport())).contains("facts", "driver-costs");
        } finally {
            running.descendants().forEach(ProcessHandle::destroyForcibly);
            running.destroyForcibly();
        }
    }

    @Test
    void theSecondPartNamesWhatIsMissing() throws IOException, InterruptedException {
        assertThat(run(Map.of("PATH", "/usr/bin:/bin"), "--part", "second")).isZero();
        JsonNode report = process.validReport();
        assertThat(List.of("tests tagged gpu", "memcheck and racecheck")).allSatisfy(name -> assertThat(
                        process.step(report, name).path("outcome").asText())
                .isEqualTo("not_run"));
        assertThat(Parts.limit(Parts.Part.SECOND)).isLessThanOrEqualTo(Duration.ofMinutes(3));
    }
}
