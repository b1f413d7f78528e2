package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;

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

/** Runs {@code gpu-verify} as a process, with the files of a bundle, on emulated GPUs. */
final class VerifyProcess {

    static final Path EMULATED = Path.of(System.getProperty("jccl.emulated.cuda", "none"));

    private final Path directory;

    /** @param directory folder for the bundle, the report and the output */
    VerifyProcess(Path directory) throws IOException {
        this.directory = directory;
        Files.createDirectories(bundle().resolve("test-lib"));
    }

    Path bundle() {
        return directory.resolve("bundle");
    }

    Path report() {
        return directory.resolve("report");
    }

    String errors() throws IOException {
        return Files.readString(directory.resolve("err")) + Files.readString(directory.resolve("out"));
    }

    /** Runs the program to its end; returns its exit status. */
    int run(Map<String, String> environment, String... further) throws IOException, InterruptedException {
        Process process = start(environment, further);
        assertThat(process.waitFor(360, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    Process start(Map<String, String> environment, String... further) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions());
        command.add("-Djccl.cuda.path=" + EMULATED);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), GpuVerify.class.getName()));
        command.addAll(List.of("--quick", "--bundle", bundle().toString(), "--report", report().toString()));
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
        return builder.start();
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

    /** Returns the report, which must be valid by its schema. */
    JsonNode validReport() throws IOException {
        JsonNode json =
                new ObjectMapper().readTree(report().resolve("report.json").toFile());
        assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                        .getSchema(Files.readString(Path.of("../../docs/schema/gpu-verify.schema.json")))
                        .validate(json))
                .as(json.toPrettyString())
                .isEmpty();
        return json;
    }

    /** Returns the first step whose name begins with a text. */
    JsonNode step(JsonNode json, String name) {
        for (JsonNode step : json.path("steps")) {
            if (step.path("name").asText().startsWith(name)) {
                return step;
            }
        }
        throw new AssertionError(name + " is not in " + json.path("steps"));
    }
}
