package io.jccl.examples;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs an example as several processes, and captures their output in files. {@link #close} kills and reaps all. */
final class ExampleRanks implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final List<Process> processes = new ArrayList<>();
    private final Path folder;

    private ExampleRanks(Path folder) {
        this.folder = folder;
    }

    /**
     * Starts the ranks.
     *
     * @param folder folder in which each start creates a new folder for the rendezvous file and the output
     */
    static ExampleRanks start(Path folder, int size, Class<?> example, String... arguments) throws IOException {
        ExampleRanks ranks = new ExampleRanks(Files.createTempDirectory(folder, example.getSimpleName()));
        try {
            for (int rank = 0; rank < size; rank++) {
                ranks.processes.add(ranks.startRank(rank, size, false, example, arguments));
            }
            return ranks;
        } catch (IOException e) {
            ranks.close();
            throw e;
        }
    }

    /** Runs the ranks to their end and returns what each has printed. Fails if the exit status of one is not 0. */
    static List<String> run(Path folder, int size, Class<?> example, String... arguments) throws Exception {
        try (ExampleRanks ranks = start(folder, size, example, arguments)) {
            List<String> outputs = new ArrayList<>();
            for (int rank = 0; rank < size; rank++) {
                int status = ranks.awaitExit(rank);
                if (status != 0) {
                    throw new AssertionError("rank " + rank + " ended with " + status + ":" + ranks.allOutput());
                }
                outputs.add(ranks.output(rank));
            }
            return outputs;
        }
    }

    /** Starts a process that joins, and returns its number, which is the next unused one. */
    int startJoining(int size, Class<?> example, String... arguments) throws IOException {
        int number = processes.size();
        processes.add(startRank(number, size, true, example, arguments));
        return number;
    }

    private Process startRank(int rank, int size, boolean joins, Class<?> example, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                example.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(outputFile(rank).toFile())
                .redirectInput(new File("/dev/null"));
        builder.environment()
                .putAll(Map.of(
                        "JCCL_RANK", Integer.toString(rank),
                        "JCCL_SIZE", Integer.toString(size),
                        "JCCL_MEMBER_FILE", folder.resolve("member-" + rank).toString(),
                        "JCCL_RENDEZVOUS", "file:" + folder.resolve("rendezvous")));
        if (joins) {
            builder.environment().put("JCCL_JOIN", "file:" + folder);
        }
        return builder.start();
    }

    private Path outputFile(int rank) {
        return folder.resolve("rank" + rank + ".out");
    }

    /** Returns what a rank has printed so far on standard output and standard error. */
    String output(int rank) {
        try {
            return Files.readString(outputFile(rank), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String allOutput() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < processes.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(" ----\n").append(output(rank));
        }
        return text.toString();
    }

    /** Waits until a rank has printed a text. */
    void awaitOutput(int rank, String text) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (!output(rank).contains(text)) {
            if (System.nanoTime() - deadline > 0
                    || !processes.get(rank).isAlive() && !output(rank).contains(text)) {
                throw new AssertionError("rank " + rank + " did not print \"" + text + "\":" + allOutput());
            }
            processes.get(rank).waitFor(10, TimeUnit.MILLISECONDS);
        }
    }

    /** Waits until a rank has ended, and returns its exit status. */
    int awaitExit(int rank) throws IOException, InterruptedException {
        if (!processes.get(rank).waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
            dumpThreads();
            throw new AssertionError("rank " + rank + " did not end:" + allOutput());
        }
        return processes.get(rank).exitValue();
    }

    /** Makes every rank that still runs print a thread dump. */
    private void dumpThreads() throws IOException, InterruptedException {
        for (Process process : processes) {
            new ProcessBuilder("kill", "-QUIT", Long.toString(process.pid()))
                    .start()
                    .waitFor();
            process.waitFor(500, TimeUnit.MILLISECONDS); // gives it time to print
        }
    }

    /** Kills a rank with SIGKILL. */
    void kill(int rank) {
        processes.get(rank).destroyForcibly();
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
    }
}
