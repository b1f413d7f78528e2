package io.jccl.djl;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Runs ranks as processes, each a JVM with PyTorch, and captures their output in files. {@link #close} kills those that
 * still run.
 */
final class RankProcesses implements AutoCloseable {

    private final List<Process> processes = new ArrayList<>();
    private final Path folder;

    private RankProcesses(Path folder) {
        this.folder = folder;
    }

    /** Starts a JVM for each rank, with the environment that {@code Communicator.fromEnvironment()} reads. */
    static RankProcesses start(Path folder, int ranks, Class<?> main, String... arguments) throws IOException {
        return start(folder, ranks, Map.of(), main, arguments);
    }

    /** Starts a JVM for each rank, with {@code environment} in addition to the variables of JCCL. */
    static RankProcesses start(
            Path folder, int ranks, Map<String, String> environment, Class<?> main, String... arguments)
            throws IOException {
        RankProcesses started = new RankProcesses(folder);
        try {
            for (int rank = 0; rank < ranks; rank++) {
                started.start(rank, ranks, environment, main, arguments);
            }
            return started;
        } catch (IOException e) {
            started.close();
            throw e;
        }
    }

    private void start(int rank, int ranks, Map<String, String> environment, Class<?> main, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-Dai.djl.offline=true",
                "-DDJL_CACHE_DIR=" + System.getProperty("DJL_CACHE_DIR"),
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(outputFile(rank).toFile())
                .redirectInput(new File("/dev/null"));
        builder.environment().put("JCCL_RANK", Integer.toString(rank));
        builder.environment().put("JCCL_SIZE", Integer.toString(ranks));
        builder.environment().put("JCCL_RENDEZVOUS", "file:" + folder.resolve("rendezvous"));
        builder.environment().put("OMP_NUM_THREADS", "1");
        builder.environment().putAll(environment);
        processes.add(builder.start());
    }

    private Path outputFile(int rank) {
        return folder.resolve("rank" + rank + ".out");
    }

    /** Returns what a rank has printed so far. */
    String output(int rank) throws IOException {
        return Files.readString(outputFile(rank), StandardCharsets.UTF_8);
    }

    /**
     * Returns what all ranks have printed so far: the rank that caused a failure is often not the one that reports it.
     */
    String allOutput() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < processes.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(" ----\n").append(output(rank));
        }
        return text.toString();
    }

    /** Waits until a rank has printed {@code expected}. */
    void awaitOutput(int rank, String expected, Duration limit) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!output(rank).contains(expected)) {
            if (System.nanoTime() > deadline
                    || !processes.get(rank).isAlive() && !output(rank).contains(expected)) {
                throw new AssertionError("rank " + rank + " did not print " + expected + allOutput());
            }
            processes.get(rank).waitFor(10, TimeUnit.MILLISECONDS);
        }
    }

    /** Waits until a rank has ended by itself, and returns its exit status. */
    int awaitExit(int rank, Duration limit) throws IOException, InterruptedException {
        if (!processes.get(rank).waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new AssertionError("rank " + rank + " did not end:" + allOutput());
        }
        return processes.get(rank).exitValue();
    }

    /** Kills a rank with SIGKILL. */
    void kill(int rank) {
        processes.get(rank).destroyForcibly();
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            process.onExit().join();
        }
    }
}
