package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Communicator;
import io.jccl.testing.NewerJdk;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;

/**
 * The additional API on JDK 22 and later. Compiles the classes of {@code java22} against this build, packs both into a
 * multi-release jar, and runs each program of {@code src/test/java22} with that jar in its own JVM.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemorySegmentsTest {

    private static final int FIRST_JDK = 22;
    private static final int LIMIT_SECONDS = 200;
    private static final String MANIFEST = "Manifest-Version: 1.0\nMulti-Release: true\n\n";
    private static final Path PROGRAMS = Path.of("src/test/java22/io/jccl/integration");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"SegmentRanksMain", "HostArenaMain"})
    void programThatUsesMemorySegmentsSucceeds(String program) throws Exception {
        Optional<Path> found = NewerJdk.find(FIRST_JDK);
        assumeTrue(
                found.isPresent(),
                "no JDK " + FIRST_JDK
                        + " or later: install one in /usr/lib/jvm, or name it with -Djccl.jdk22 or JCCL_JDK22");
        Path jdk = found.orElseThrow();
        Path library = multiReleaseJar(jdk);
        Path main = folder.resolve("main");
        try (Stream<Path> programs = Files.list(PROGRAMS)) {
            compile(jdk, main, List.of(library), programs.toList());
        }

        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        List<String> command = List.of(
                tool(jdk, "java"),
                "-Xcheck:jni",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                path(List.of(library, placeOf(Logger.class), main)),
                "io.jccl.integration." + program,
                folder.toString());
        assertThat(run(command, output, errors)).as(errors.toFile() + "").isZero();
        List<String> lines = Files.readAllLines(output);
        assertThat(lines).last().as(Files.readString(errors)).isEqualTo("DONE");
        assertThat(lines.subList(0, lines.size() - 1))
                .as(Files.readString(errors))
                .hasSizeGreaterThan(5)
                .allMatch(line -> line.endsWith(": ok"));
        assertThat(errors).content().doesNotContain("WARNING");
    }

    private Path multiReleaseJar(Path jdk) throws Exception {
        Path classes = placeOf(Communicator.class);
        Path additions = folder.resolve("additions");
        try (Stream<Path> sources = Files.walk(Path.of("src/main/java22"))) {
            compile(
                    jdk,
                    additions,
                    List.of(classes, placeOf(NullMarked.class)),
                    sources.filter(file -> file.toString().endsWith(".java")).toList());
        }
        Path jar = folder.resolve("jccl.jar");
        if (Files.isRegularFile(classes)) {
            Files.copy(classes, jar);
        }
        try (FileSystem zip = FileSystems.newFileSystem(jar, Map.of("create", "true"))) {
            Path root = zip.getPath("/");
            if (Files.isDirectory(classes)) {
                copy(classes, root);
            }
            copy(additions, root.resolve("META-INF/versions/" + FIRST_JDK));
            Files.writeString(root.resolve("META-INF/MANIFEST.MF"), MANIFEST);
        }
        return jar;
    }

    private static void copy(Path from, Path to) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(from)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            Path target = to.resolve(from.relativize(file).toString());
            Files.createDirectories(target.getParent());
            Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private void compile(Path jdk, Path target, List<Path> classPath, List<Path> sources) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                tool(jdk, "javac"),
                "--release",
                Integer.toString(FIRST_JDK),
                "-Xlint:all,-restricted",
                "-Werror",
                "-proc:none",
                "-d",
                target.toString(),
                "-cp",
                path(classPath)));
        sources.forEach(source -> command.add(source.toString()));
        Path output = folder.resolve("javac");
        int status = run(command, output, folder.resolve("javac-errors"));
        assertThat(status).as(Files.readString(folder.resolve("javac-errors"))).isZero();
    }

    private static int run(List<String> command, Path output, Path errors) throws Exception {
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        try {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as(command.get(0) + " ends")
                    .isTrue();
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private static String tool(Path jdk, String name) {
        return jdk.resolve("bin").resolve(name).toString();
    }

    private static String path(List<Path> entries) {
        return String.join(
                File.pathSeparator, entries.stream().map(Path::toString).toList());
    }

    private static Path placeOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }
}
