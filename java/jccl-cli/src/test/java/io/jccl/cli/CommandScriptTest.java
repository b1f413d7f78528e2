package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.CommandProcess.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the download's {@code bin/jccl} with a fake Java. The fake prints its arguments. When it is asked for an
 * archive of classes, it writes a short file, or fails if the file {@code broken} exists next to it.
 */
@Timeout(60)
class CommandScriptTest {

    private static final String JAVA =
            """
            #!/bin/sh
            here=$(dirname "$0")
            for argument; do
              case $argument in
                -version) echo 'openjdk version "1.8.0_402"' >&2; exit ;;
                -XX:ArchiveClassesAtExit=*)
                  env >"$here/environment"
                  [ -e "$here/broken" ] && exit 1
                  echo classes >"${argument#*=}"
                  exit ;;
              esac
            done
            printf '%s\\n' "$@"
            """;

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Path bin;
    private Path cache;

    @BeforeEach
    void install() throws IOException {
        bin = Files.createDirectories(directory.resolve("jdk/bin"));
        Files.writeString(bin.resolve("java"), JAVA).toFile().setExecutable(true);
        release("17.0.9");
        Path command = directory.resolve("command");
        Files.createDirectories(command.resolve("bin"));
        Files.createDirectories(command.resolve("lib"));
        Files.copy(Path.of("src/main/dist/bin/jccl"), command.resolve("bin/jccl"));
        Files.writeString(command.resolve("lib/jccl.jar"), "a jar");
        cache = Files.createDirectories(directory.resolve("cache/jccl"));
    }

    private void release(String version) throws IOException {
        Files.writeString(directory.resolve("jdk/release"), "JAVA_VERSION=\"" + version + "\"\n");
    }

    private Result run() throws IOException, InterruptedException {
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(
                        "bash", directory.resolve("command/bin/jccl").toString(), "env")
                .redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.matches("(JCCL|NCCL)_.*"));
        builder.environment().put("JAVA_HOME", directory.resolve("jdk").toString());
        builder.environment().put("XDG_CACHE_HOME", directory.resolve("cache").toString());
        builder.environment().putAll(environment);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return new Result(process.exitValue(), out, Files.readString(err));
    }

    /**
     * Runs the command and returns the path of the archive that the command passes to Java; empty if it passes none.
     */
    private String archive() throws IOException, InterruptedException {
        Result result = run();
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.out())
                .endsWith("-cp\n" + directory.resolve("command/lib/jccl.jar") + "\nio.jccl.cli.Main\nenv\n");
        String option = "-XX:SharedArchiveFile=";
        String archive = result.out()
                .lines()
                .filter(line -> line.startsWith(option))
                .map(line -> line.substring(option.length()))
                .findFirst()
                .orElse("");
        assertThat(result.out().contains("-Djccl.class.archive=" + archive + "\n"))
                .isEqualTo(!archive.isEmpty());
        return archive;
    }

    private List<Path> archives() throws IOException {
        try (Stream<Path> files = Files.list(cache)) {
            return files.filter(file -> file.toString().endsWith(".jsa")).toList();
        }
    }

    private static void age(Path file, int days) throws IOException {
        FileTime time = FileTime.from(Instant.now().minus(Duration.ofDays(days)));
        Files.getFileAttributeView(file, BasicFileAttributeView.class).setTimes(time, time, null);
    }

    @Test
    void theArchiveIsMadeOnceWithoutTheSettingsOfTheUser() throws IOException, InterruptedException {
        environment.putAll(Map.of("JCCL_ALGO", "tree", "NCCL_PROTO", "ll", "classpath", "another"));
        String archive = archive();
        assertThat(Path.of(archive)).hasParent(cache).hasContent("classes");
        assertThat(archive).endsWith("-17.0.9.jsa");
        assertThat(Files.readString(bin.resolve("environment"))).doesNotContain("JCCL_", "NCCL_");
        Files.delete(bin.resolve("environment"));
        assertThat(archive()).isEqualTo(archive);
        assertThat(bin.resolve("environment")).doesNotExist();
    }

    @Test
    void eachJarAndJavaHasItsOwnArchiveAndOldArchivesAreDeleted() throws IOException, InterruptedException {
        Path old = Files.writeString(cache.resolve("1-11.0.1.jsa"), "unused");
        age(old, 100);
        Path first = Path.of(archive());
        assertThat(old).doesNotExist();
        age(directory.resolve("command/lib/jccl.jar"), 1);
        Path second = Path.of(archive());
        release("21.0.1");
        Path third = Path.of(archive());
        age(bin.resolve("java"), 1);
        assertThat(archives()).containsExactlyInAnyOrder(first, second, third);
        assertThat(archive()).isNotIn("", first.toString(), second.toString(), third.toString());
    }

    @Test
    void anArchiveThatCannotBeMadeIsTriedAgainAfterADay() throws IOException, InterruptedException {
        Path broken = Files.createFile(bin.resolve("broken"));
        assertThat(archive()).isEmpty();
        Files.delete(broken);
        assertThat(archive()).isEmpty();
        age(archives().get(0), 2);
        assertThat(archive()).isEqualTo(archives().get(0).toString());
    }

    @Test
    void theCommandRunsWithoutAnArchiveIfTheCacheCannotBeWritten() throws IOException, InterruptedException {
        Files.delete(cache);
        Files.createSymbolicLink(cache, Path.of("/proc/self")); // not even root can write there
        assertThat(archive()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"11.0.2, 11.0.2", "1.8.0_402, 1.8.0_402", "'', 1.8.0_402"})
    void anOldJavaIsRefused(String release, String version) throws IOException, InterruptedException {
        release(release);
        Result result = run();
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err())
                .isEqualTo("jccl: " + bin.toRealPath().resolve("java") + " is Java " + version
                        + ": expected 17 or later; set JAVA_HOME\n");
    }
}
