package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.cli.CommandProcess.Result;
import io.jccl.cli.topo.Reports;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the command without native libraries: subcommands that need none work, and the others say what is missing. */
@Timeout(180)
class WithoutNativesTest {

    private static final String NATIVES = "META-INF/native";

    @TempDir
    static Path copies;

    private static String classPath;

    @TempDir
    Path directory;

    private Path host;

    /** Makes a copy of this JVM's class path without the folders of native libraries. */
    @BeforeAll
    static void removeNatives() throws IOException {
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path place = Path.of(entry).toAbsolutePath();
            Path copy = copies.resolve(entries.size() + "-" + place.getFileName());
            entries.add(withoutNatives(place, copy).toString());
        }
        classPath = String.join(File.pathSeparator, entries);
    }

    private static Path withoutNatives(Path entry, Path copy) throws IOException {
        if (Files.isDirectory(entry.resolve(NATIVES))) {
            linkAllBut(entry, copy, "META-INF");
            linkAllBut(entry.resolve("META-INF"), copy.resolve("META-INF"), "native");
            return copy;
        }
        if (!Files.isRegularFile(entry)) {
            return entry;
        }
        try (FileSystem jar = FileSystems.newFileSystem(entry)) {
            if (Files.notExists(jar.getPath(NATIVES))) {
                return entry;
            }
        }
        Files.copy(entry, copy);
        try (FileSystem jar = FileSystems.newFileSystem(copy);
                Stream<Path> natives = Files.walk(jar.getPath(NATIVES))) {
            for (Path file : natives.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        return copy;
    }

    private static void linkAllBut(Path from, Path to, String excluded) throws IOException {
        Files.createDirectory(to);
        try (Stream<Path> children = Files.list(from)) {
            for (Path child : children.toList()) {
                String name = child.getFileName().toString();
                if (!name.equals(excluded)) {
                    Files.createSymbolicLink(to.resolve(name), child);
                }
            }
        }
    }

    @BeforeEach
    void describeHost() throws IOException {
        host = Files.writeString(directory.resolve("host.xml"), Reports.host(2, 2, 4, Reports.Fabric.SWITCH));
    }

    private Result run(List<String> options, String... arguments) throws IOException, InterruptedException {
        ProcessBuilder builder = CommandProcess.builder(directory, options, arguments);
        List<String> command = builder.command();
        command.set(command.indexOf("-cp") + 1, classPath);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String err = Files.readString(directory.resolve("err"));
        assertThat(out + err).doesNotContain("ExceptionInInitializerError", "NoClassDefFoundError", "\tat ");
        return new Result(process.exitValue(), out, err);
    }

    private Result requireSuccess(String... arguments) throws IOException, InterruptedException {
        Result result = run(List.of(), arguments);
        assertThat(result.status()).as(result.err()).isZero();
        return result;
    }

    @Test
    void hostsAreReadAndPlannedFromFiles() throws IOException, InterruptedException {
        assertThat(requireSuccess("topo", "--file", host.toString()).out()).contains("CHANNELS");
        JsonNode plan = new ObjectMapper()
                .readTree(requireSuccess("topo", "--file", host.toString(), "--machines", "2", "--json")
                        .out())
                .get("plan");
        assertThat(plan.get("ranks").asInt()).isEqualTo(32);
        assertThat(plan.get("rings")).isNotEmpty();
        assertThat(requireSuccess("topo", "--file", host.toString(), "--format", "svg")
                        .out())
                .contains("</svg>");
    }

    @Test
    void thisHostAndTheSettingsAreShown() throws IOException, InterruptedException {
        assertThat(requireSuccess("topo", "-n", "2").out()).contains("CHANNELS");
        assertThat(requireSuccess("env").out()).contains("JCCL_TIMEOUT");
        assertThat(requireSuccess("--version").out()).contains("native libraries: none");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "os.arch=amd64 | platform=linux-x86_64: this jar has no native library for it; use the released jar",
                "os.arch=riscv64 | platform=linux-riscv64: this jar has no native library for it: expected linux-x86_64"
            })
    void doctorReportsTheMissingLibraryAndContinues(String property, String message)
            throws IOException, InterruptedException {
        Result result = run(List.of("-D" + property), "doctor", "--json");
        assertThat(result.status()).as(result.err()).isEqualTo(1);
        JsonNode checks = new ObjectMapper().readTree(result.out()).get("checks");
        assertThat(checks.get(0).get("name").asText()).isEqualTo("native-library");
        assertThat(checks.get(0).get("status").asText()).isEqualTo("fail");
        assertThat(checks.get(0).get("detail").asText()).startsWith(message);
        assertThat(checks.findValuesAsText("name"))
                .contains("load", "gpus", "pci-links", "memlock")
                .doesNotContain("doctor");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "os.arch=amd64 | this jar has no native library for it",
                "os.name=Mac OS X | os=mac_os_x: expected linux",
                "os.name=Windows 11 | os=windows_11: expected linux"
            })
    void ranksAreRefusedWithTheReasonAndPlansAreStillMade(String property, String reason)
            throws IOException, InterruptedException {
        List<String> options = List.of("-D" + property);
        Result ranks = run(options, "perf", "all_reduce", "-n", "2", "--threads", "-e", "8", "--iters", "1");
        assertThat(ranks.status()).isEqualTo(1);
        assertThat(ranks.err()).contains("NativeLoadException", reason);
        Result plan = run(options, "topo", "--file", host.toString());
        assertThat(plan.status()).as(plan.err()).isZero();
    }
}
