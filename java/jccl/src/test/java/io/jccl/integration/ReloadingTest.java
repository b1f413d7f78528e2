package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Containers such as Tomcat, Flink and Spark reload an application with JCCL in the application's class loader. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReloadingTest {

    private static final int RELOADS = 4;

    @TempDir
    Path folder;

    /**
     * Words of a mode: {@code socket} sets the transport; {@code split} makes a second communicator; {@code fail}
     * aborts the communicator before it is closed; {@code host} uses a HostBuffer, which {@code forget} never closes;
     * {@code shut} closes the class loader; {@code two} uses a second loader while the first exists; {@code open} never
     * closes the communicators.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {"plain", "shut", "socket+shut", "split", "fail", "host", "host+forget", "two+shut", "jfr+split"})
    void reloadsLeaveNoLoaderThreadDescriptorOrMapping(String mode) throws Exception {
        List<String> options = mode.contains("jfr") ? List.of("-XX:StartFlightRecording:settings=profile") : List.of();

        String output = run(mode, options);

        requireNothing(output);
    }

    @Test
    void libraryNamedByAPropertyIsLoadedByTwoLoadersAtOnce() throws Exception {
        Path library = folder.resolve("libjccl.so");
        try (var embedded = getClass().getResourceAsStream("/META-INF/native/linux-x86_64/libjccl.so")) {
            Files.copy(embedded, library);
        }

        String output = run("two", List.of("-Djccl.native.path=" + library));

        requireNothing(output);
        assertThat(library).exists();
    }

    @Test
    void communicatorsThatAreNeverClosedKeepTheirLoadersAndEndWithTheProcess() throws Exception {
        String output = run("host+forget+open+shut", List.of("-Djccl.test.gone.nanos=200000000"));

        assertThat(output).contains("remains: loaders=" + (RELOADS + 1) + " ");
    }

    private static void requireNothing(String output) {
        assertThat(output).contains("remains: loaders=0 threads=[] mappings=0 ");
        String[] descriptors =
                output.substring(output.indexOf(" descriptors=") + 13).strip().split(" before=");
        assertThat(Integer.parseInt(descriptors[0]))
                .as(output)
                .isLessThanOrEqualTo(Integer.parseInt(descriptors[1].split("\\s")[0]));
        assertThat(output.lines().filter(line -> line.startsWith("reloaded")))
                .as("threads after every close()")
                .containsOnly("reloaded, threads=[]");
    }

    private String run(String mode, List<String> options) throws Exception {
        Path temporary = Files.createDirectories(folder.resolve("temporary"));
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-Djava.io.tmpdir=" + temporary));
        command.addAll(options);
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                ReloadingMain.class.getName(),
                mode,
                Integer.toString(RELOADS)));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        try {
            boolean ended = process.waitFor(180, TimeUnit.SECONDS);
            String text = Files.readString(output);
            assertThat(ended).as(text).isTrue();
            assertThat(process.exitValue()).as(text).isZero();
            try (var left = Files.list(temporary)) {
                assertThat(left)
                        .as("files left in java.io.tmpdir")
                        .filteredOn(file -> file.getFileName().toString().startsWith("jccl"))
                        .isEmpty();
            }
            return text;
        } finally {
            process.destroyForcibly();
        }
    }
}
