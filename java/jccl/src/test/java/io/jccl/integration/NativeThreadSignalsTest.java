package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.TransportKind;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Only faults and profilers' timers reach the native library's threads; the application's other signals do not. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NativeThreadSignalsTest {

    private static final String NETWORK_THREAD = "jccl-net";

    private static final String READY = "ranks in use";

    /** Signals with their numbers on Linux for x86-64 and AArch64. */
    private static final Map<String, Integer> DELIVERED =
            Map.of("SIGILL", 4, "SIGTRAP", 5, "SIGABRT", 6, "SIGBUS", 7, "SIGFPE", 8, "SIGSEGV", 11, "SIGPROF", 27);

    private static final Map<String, Integer> BLOCKED = Map.of("SIGHUP", 1, "SIGINT", 2, "SIGQUIT", 3, "SIGTERM", 15);

    @TempDir
    Path folder;

    @Test
    void onlyFaultsAndTimersReachNativeThreads() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(
                2, LocalRanks.config().transport(TransportKind.SOCKET).build())) {
            ranks.run(Cycles::use);
            long mask = blockedBy("/proc/self/task", NETWORK_THREAD);
            DELIVERED.forEach(
                    (name, number) -> assertThat(isIn(mask, number)).as(name).isFalse());
            BLOCKED.forEach(
                    (name, number) -> assertThat(isIn(mask, number)).as(name).isTrue());
        }
    }

    /**
     * Linux delivers a signal preferably to the thread that {@code kill} names, unless that thread blocks it. A thread
     * that is being created blocks every signal, so the ranks execute operations before the test sends the signal.
     */
    @Test
    void faultInANativeThreadLeavesAnErrorReportOfTheJvm() throws Exception {
        Path report = folder.resolve("hs_err.log");
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:ErrorFile=" + report,
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        try {
            awaitReady(process, output);
            List<Path> threads = threads("/proc/" + process.pid() + "/task", NETWORK_THREAD);
            assertThat(threads).as(NETWORK_THREAD).isNotEmpty();
            String thread = threads.get(0).getFileName().toString();
            assertThat(new ProcessBuilder("kill", "-SEGV", thread).start().waitFor())
                    .isZero();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("has ended").isTrue();
            assertThat(report).as(Files.readString(output)).exists();
            assertThat(Files.readString(report))
                    .contains("SIGSEGV", "tid=" + thread, "Current thread is native thread");
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    private static void awaitReady(Process process, Path output) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!Files.readString(output).contains(READY)) {
            assertThat(process.isAlive() && System.nanoTime() < deadline)
                    .as(Files.readString(output))
                    .isTrue();
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private static List<Path> threads(String tasks, String name) throws IOException {
        Map<String, Path> found = new TreeMap<>();
        try (Stream<Path> all = Files.list(Path.of(tasks))) {
            for (Path thread : all.toList()) {
                if (Files.readString(thread.resolve("comm")).trim().equals(name)) {
                    found.put(thread.getFileName().toString(), thread);
                }
            }
        } catch (IOException e) {
            // a thread or the process has ended since the folder was listed
        }
        return List.copyOf(found.values());
    }

    private static long blockedBy(String tasks, String name) throws IOException {
        List<Path> found = threads(tasks, name);
        assertThat(found).as(name).isNotEmpty();
        return Files.readAllLines(found.get(0).resolve("status")).stream()
                .filter(line -> line.startsWith("SigBlk:"))
                .map(line -> Long.parseUnsignedLong(line.substring(7).trim(), 16))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isIn(long mask, int signal) {
        return (mask >>> (signal - 1) & 1) != 0;
    }

    /** Two ranks with socket connections; they live until the process is killed. */
    static final class Main {
        private Main() {}

        public static void main(String[] arguments) throws InterruptedException {
            try (LocalRanks ranks = LocalRanks.start(
                    2, LocalRanks.config().transport(TransportKind.SOCKET).build())) {
                ranks.run(Cycles::use);
                System.out.println(READY);
                TimeUnit.MINUTES.sleep(2);
            }
        }
    }
}
