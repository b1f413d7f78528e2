package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.topo.Reports;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests that {@code jccl topo} answers quickly in a new JVM. Measures processor time, including that of the JVM's own
 * threads, as a multiple of the time of {@code jccl --version}, because a slow or busy host lengthens both times alike.
 * {@code scripts/check-topo} measures elapsed time, with the archive of classes that the script makes.
 */
@Timeout(120)
class ColdStartTest {

    /**
     * Upper limit of the processor time of {@code jccl topo} divided by that of {@code jccl --version}. The ratio is
     * about 2 on an idle host. The test takes the smallest ratio of {@link #PAIRS} pairs of runs.
     */
    private static final double MAX_RATIO = 4;

    private static final int PAIRS = 3;

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(Reports.Fabric.class)
    void topoOfSixteenGpusTakesLittleProcessorTime(Reports.Fabric fabric) throws IOException, InterruptedException {
        Path description = directory.resolve("host.xml");
        Files.writeString(description, Reports.host(2, 2, 4, fabric));
        double least = Double.POSITIVE_INFINITY;
        for (int pair = 0; pair < PAIRS && least >= MAX_RATIO; pair++) {
            double start = processorSeconds("native libraries", "--version");
            double topo = processorSeconds("CHANNELS", "topo", "--file", description.toString(), "--machines", "2");
            assertThat(start).isGreaterThan(0.05);
            least = Math.min(least, topo / start);
        }
        assertThat(least).isLessThan(MAX_RATIO);
    }

    /**
     * Runs the command and returns its processor time: the second line of POSIX {@code times} is the user and system
     * time of the processes that the shell has waited for.
     */
    private double processorSeconds(String expected, String... arguments) throws IOException, InterruptedException {
        String command = "\"$@\" >out 2>err; status=$?; times; exit $status";
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", command, "sh");
        builder.command()
                .addAll(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseParallelGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName()));
        builder.command().addAll(List.of(arguments));
        builder.environment().keySet().removeIf(name -> name.matches("(JCCL|NCCL)_.*"));
        Process process =
                builder.directory(directory.toFile()).redirectErrorStream(true).start();
        String times = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(directory.resolve("err")))
                .isZero();
        assertThat(Files.readString(directory.resolve("out"))).containsIgnoringCase(expected);
        Matcher children =
                Pattern.compile("(\\d+)m([\\d.]+)s\\s+(\\d+)m([\\d.]+)s\\s*$").matcher(times);
        assertThat(children.find()).as(times).isTrue();
        return seconds(children, 1) + seconds(children, 3);
    }

    private static double seconds(Matcher time, int group) {
        return 60 * Integer.parseInt(time.group(group)) + Double.parseDouble(time.group(group + 1));
    }
}
