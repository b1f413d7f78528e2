package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.Predicate;

/**
 * Ranks as processes: a JVM for each, running {@link RankMain}. Output is captured in files; every process is killed and
 * reaped when this is closed.
 */
final class ProcessRanks implements AutoCloseable {

    private final List<Process> processes = new ArrayList<>();
    private final List<Path> outputs = new ArrayList<>();
    private final Path folder;

    private ProcessRanks(Path folder) {
        this.folder = folder;
    }

    /**
     * Starts ranks whose rendezvous server is in this process.
     *
     * @param scenario what {@link RankMain} is to do
     */
    static ProcessRanks start(Path folder, int size, String scenario, String... arguments) {
        return start(UniqueId.create(), folder, size, scenario, arguments);
    }

    /** Starts ranks that join a given rendezvous. */
    static ProcessRanks start(UniqueId id, Path folder, int size, String scenario, String... arguments) {
        return start(id, folder, size, rank -> List.of(), scenario, arguments);
    }

    /**
     * Starts ranks inside other commands.
     *
     * @param inside by rank the command that runs the one that follows it; empty for none
     */
    static ProcessRanks start(
            UniqueId id,
            Path folder,
            int size,
            IntFunction<List<String>> inside,
            String scenario,
            String... arguments) {
        return start(id.toText(), folder, size, inside, scenario, arguments);
    }

    /** Starts ranks inside commands that give them a launcher's environment; no rendezvous server is started here. */
    static ProcessRanks startLaunched(
            Path folder, int size, IntFunction<List<String>> inside, String scenario, String... arguments) {
        return start(RankMain.LAUNCHED, folder, size, inside, scenario, arguments);
    }

    private static ProcessRanks start(
            String rendezvous,
            Path folder,
            int size,
            IntFunction<List<String>> inside,
            String scenario,
            String... arguments) {
        ProcessRanks ranks = new ProcessRanks(folder);
        try {
            for (int rank = 0; rank < size; rank++) {
                ranks.startRank(inside.apply(rank), rendezvous, rank, size, scenario, arguments);
            }
            return ranks;
        } catch (IOException e) {
            ranks.close();
            throw new UncheckedIOException(e);
        }
    }

    private void startRank(
            List<String> inside, String rendezvous, int rank, int size, String scenario, String... arguments)
            throws IOException {
        Path output = folder.resolve("rank" + rank + ".out");
        List<String> command = new ArrayList<>(inside);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xcheck:jni",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                RankMain.class.getName(),
                rendezvous,
                Integer.toString(rank),
                Integer.toString(size),
                scenario));
        command.addAll(List.of(arguments));
        processes.add(new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"))
                .start());
        outputs.add(output);
    }

    Process process(int rank) {
        return processes.get(rank);
    }

    /** The lines that a rank has printed so far, without one that it has not finished. */
    String output(int rank) {
        boolean isWhole = !processes.get(rank).isAlive(); // before it is read
        try {
            String text = new String(Files.readAllBytes(outputs.get(rank)), StandardCharsets.UTF_8);
            return isWhole ? text : text.substring(0, text.lastIndexOf('\n') + 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What every rank has printed so far, each under its number: the cause often lies with another than the one that fails. */
    String allOutput() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < outputs.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(processes.get(rank).isAlive() ? ", which runs" : "");
            text.append(" ----\n").append(output(rank));
        }
        return text.toString();
    }

    /** Waits until a rank's output meets a condition. */
    void awaitOutput(int rank, Predicate<String> condition, Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!condition.test(output(rank))) {
            if (System.nanoTime() - deadline >= 0 || !processes.get(rank).isAlive() && !condition.test(output(rank))) {
                throw new AssertionError("rank " + rank + " did not print what was expected:" + allOutput());
            }
            processes.get(rank).waitFor(10, TimeUnit.MILLISECONDS);
        }
    }

    /** Waits until a rank has ended by itself, and returns its exit status. */
    int awaitExit(int rank, Duration limit) throws InterruptedException {
        if (!processes.get(rank).waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
            dumpThreads();
            throw new AssertionError("rank " + rank + " did not end:" + allOutput());
        }
        return processes.get(rank).exitValue();
    }

    /** Ends a rank as {@code kill -9} does. */
    void kill(int rank) {
        processes.get(rank).destroyForcibly();
    }

    /** Stops a rank as SIGSTOP does: it keeps its connections and does nothing. */
    void stop(int rank) throws IOException, InterruptedException {
        signal(rank, "-STOP");
    }

    /** Lets a rank that was stopped go on, as SIGCONT does. */
    void resume(int rank) throws IOException, InterruptedException {
        signal(rank, "-CONT");
    }

    private void signal(int rank, String signal) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder(
                        "kill", signal, Long.toString(processes.get(rank).pid()))
                .start();
        if (kill.waitFor() != 0) {
            throw new IOException("kill " + signal + " ended with " + kill.exitValue());
        }
    }

    /** Makes every rank that still runs print what its threads do. */
    private void dumpThreads() throws InterruptedException {
        for (int rank = 0; rank < processes.size(); rank++) {
            try {
                if (processes.get(rank).isAlive()) {
                    signal(rank, "-QUIT");
                    processes.get(rank).waitFor(500, TimeUnit.MILLISECONDS);
                }
            } catch (IOException e) {
                continue; // it ended meanwhile
            }
        }
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            try {
                process.waitFor(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        for (int rank = 0; rank < outputs.size(); rank++) {
            assertThat(output(rank))
                    .as("what -Xcheck:jni reports of rank " + rank)
                    .doesNotContain("in native method", "JNI call made without checking", "WARNING: JNI ");
        }
    }
}
