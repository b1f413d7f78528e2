package io.jccl.lightgbm;

import io.jccl.UniqueId;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs ranks as processes: each calls a class's {@code main} with the unique id, the rank and the number of ranks.
 * {@link #close} kills all.
 */
final class RankProcesses implements AutoCloseable {

    private final List<Process> processes = new ArrayList<>();
    private final Path folder;

    private RankProcesses(Path folder) {
        this.folder = folder;
    }

    /**
     * Starts the ranks; their output goes to files in {@code folder}. {@code arguments} follow the id, the rank and the
     * number of ranks.
     */
    static RankProcesses start(Path folder, int size, Class<?> main, String... arguments) throws IOException {
        RankProcesses ranks = new RankProcesses(folder);
        UniqueId id = UniqueId.create();
        try {
            for (int rank = 0; rank < size; rank++) {
                List<String> command = new ArrayList<>(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName(),
                        id.toText(),
                        Integer.toString(rank),
                        Integer.toString(size)));
                command.addAll(List.of(arguments));
                ranks.processes.add(new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ranks.file(rank).toFile())
                        .redirectInput(new File("/dev/null"))
                        .start());
            }
            return ranks;
        } catch (IOException e) {
            ranks.close();
            throw e;
        }
    }

    private Path file(int rank) {
        return folder.resolve("rank" + rank + ".out");
    }

    /** Returns what a rank has printed so far. */
    String output(int rank) throws IOException {
        return Files.readString(file(rank));
    }

    /** Waits until a rank has printed a text. */
    void awaitOutput(int rank, String text, Duration limit) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!output(rank).contains(text)) {
            if (System.nanoTime() >= deadline
                    || !processes.get(rank).isAlive() && !output(rank).contains(text)) {
                throw new AssertionError("rank " + rank + " did not print " + text + ":" + allOutput());
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

    /** Returns what every rank has printed, each under its number. */
    String allOutput() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < processes.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(" ----\n").append(output(rank));
        }
        return text.toString();
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            process.onExit().orTimeout(10, TimeUnit.SECONDS).join();
        }
    }
}
