package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Errors on hosts that the native library does not support. System properties and a mapped file make JVMs take this
 * host for such a host.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnsupportedHostTest {

    private static final int LIMIT_SECONDS = 60;

    @TempDir
    Path folder;

    private List<String> run(List<String> options, String... arguments) throws Exception {
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), UnsupportedHostMain.class.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(folder.resolve("errors").toFile())
                .start();
        try {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("errors")))
                .isZero();
        return Files.readAllLines(output);
    }

    private static void requireReason(List<String> lines, String expected) {
        assertThat(lines).hasSize(4);
        assertThat(lines.subList(0, 3))
                .allMatch(line -> line.contains(": NativeLoadException: " + expected))
                .allMatch(line -> line.contains("what needs no native library works here"));
        assertThat(lines.get(3)).isEqualTo("array: DataBuffer[type=float32, count=3, memory=heap]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "os.name=Mac OS X | os=mac_os_x: expected linux",
                "os.name=Windows 11 | os=windows_11: expected linux",
                "os.arch=riscv64 | platform=linux-riscv64: this jar has no native library for it: expected linux-x86_64"
            })
    void otherSystemsAndProcessorsAreNamed(String property, String expected) throws Exception {
        requireReason(run(List.of("-D" + property)), expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ld-musl-x86_64.so.1 | C library=musl: expected glibc 2.28 or newer; use an image with glibc",
                "libc-2.17.so | C library=glibc-2.17: expected glibc 2.28 or newer; use a newer distribution"
            })
    void otherCLibrariesAreNamed(String file, String expected) throws Exception {
        Path maps = Path.of("/proc/self/maps");
        assumeFalse(
                Files.readString(maps, StandardCharsets.ISO_8859_1).contains("/libc-2."),
                "this host's own C library has its version in its name");
        Path library = Files.write(folder.resolve(file), new byte[4096]);
        requireReason(run(List.of(), library.toString()), expected);
    }

    @Test
    void libraryNamedByAPropertyIsTriedOnAnyProcessor() throws Exception {
        Path library = Files.writeString(folder.resolve("libjccl.so"), "none");
        List<String> lines = run(List.of("-Dos.arch=riscv64", "-Djccl.native.path=" + library));
        assertThat(lines.get(0)).contains("NativeLoadException: the library of -Djccl.native.path=", "expected an ELF");
    }
}
