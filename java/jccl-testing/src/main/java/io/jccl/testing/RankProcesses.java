package io.jccl.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * Ranks that are processes, each a JVM that runs the same main class. Each process has the environment that
 * {@code Communicator.fromEnvironment()} reads, and its output goes to a file. {@link #close} kills those that still
 * run.
 */
public final class RankProcesses implements AutoCloseable {

    private static final Duration DUMP_TIME = Duration.ofMillis(500);

    private final List<Process> processes = new ArrayList<>();
    private final Builder options;
    private final Path folder;
    private final int size;
    private final Class<?> main;

    private RankProcesses(Builder options, int size, Class<?> main) throws IOException {
        this.options = options;
        this.folder = Files.createTempDirectory(options.parent, main.getSimpleName());
        this.size = size;
        this.main = main;
    }

    /**
     * Returns options for processes.
     *
     * @param parent folder in which each start creates a new folder for the rendezvous file and the output
     */
    public static Builder in(Path parent) {
        return new Builder(parent);
    }

    /** How to start the processes. */
    public static final class Builder {

        private final Path parent;
        private final List<String> jvmOptions = new ArrayList<>(List.of("-XX:+UseSerialGC", "-Xmx256m"));
        private final Map<String, IntFunction<String>> environment = new HashMap<>();
        private Duration limit = Duration.ofSeconds(60);

        private Builder(Path parent) {
            this.parent = parent;
        }

        /** Adds options of the JVM. */
        public Builder jvm(String... more) {
            jvmOptions.addAll(List.of(more));
            return this;
        }

        /** Adds a variable to the environment. */
        public Builder environment(String name, String value) {
            return environment(name, rank -> value);
        }

        /**
         * Adds a variable to the environment, with a value for each rank. For example, other values of
         * {@code JCCL_HOST_ID} make ranks take each other for ranks of other hosts.
         */
        public Builder environment(String name, IntFunction<String> valueOfRank) {
            environment.put(name, valueOfRank);
            return this;
        }

        /** Sets the limit of each wait that names none; 60 s unless set. */
        public Builder limit(Duration limit) {
            this.limit = limit;
            return this;
        }

        /** Starts a process for each rank. */
        public RankProcesses start(int ranks, Class<?> main, String... arguments) throws IOException {
            RankProcesses started = new RankProcesses(this, ranks, main);
            try {
                for (int rank = 0; rank < ranks; rank++) {
                    started.start(false, arguments);
                }
                return started;
            } catch (IOException e) {
                started.close();
                throw e;
            }
        }

        /** Runs the ranks to their end and returns what each has printed. Fails if a rank's exit status is not 0. */
        public List<String> run(int ranks, Class<?> main, String... arguments)
                throws IOException, InterruptedException {
            try (RankProcesses started = start(ranks, main, arguments)) {
                List<String> outputs = new ArrayList<>();
                for (int rank = 0; rank < ranks; rank++) {
                    int status = started.awaitExit(rank);
                    if (status != 0) {
                        throw new AssertionError("rank " + rank + " ended with " + status + ":" + started.allOutput());
                    }
                    outputs.add(started.output(rank));
                }
                return outputs;
            }
        }
    }

    /** Starts a process that joins the ranks, and returns its number, which is the next unused one. */
    public int startJoining(String... arguments) throws IOException {
        start(true, arguments);
        return processes.size() - 1;
    }

    private void start(boolean joins, String... arguments) throws IOException {
        int number = processes.size();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options.jvmOptions);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(outputFile(number).toFile())
                .redirectInput(new File("/dev/null"));
        Map<String, String> environment = builder.environment();
        environment.put("JCCL_RANK", Integer.toString(number));
        environment.put("JCCL_SIZE", Integer.toString(size));
        environment.put("JCCL_RENDEZVOUS", "file:" + folder.resolve("rendezvous"));
        environment.put("JCCL_MEMBER_FILE", folder.resolve("member-" + number).toString());
        if (joins) {
            environment.put("JCCL_JOIN", "file:" + folder);
        }
        options.environment.forEach((name, valueOfRank) -> environment.put(name, valueOfRank.apply(number)));
        processes.add(builder.start());
    }

    private Path outputFile(int rank) {
        return folder.resolve("rank" + rank + ".out");
    }

    /** Returns what a rank has printed so far on standard output and standard error. */
    public String output(int rank) {
        try {
            return Files.readString(outputFile(rank), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns what all ranks have printed so far: the rank that caused a failure is often not the one that reports it.
     */
    public String allOutput() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < processes.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(" ----\n").append(output(rank));
        }
        return text.toString();
    }

    /** Waits until a rank has printed a text. */
    public void awaitOutput(int rank, String text) throws InterruptedException {
        awaitOutput(rank, text, options.limit);
    }

    /** Waits until a rank has printed a text, for at most {@code limit}. */
    public void awaitOutput(int rank, String text, Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!output(rank).contains(text)) {
            if (System.nanoTime() - deadline > 0
                    || !processes.get(rank).isAlive() && !output(rank).contains(text)) {
                throw new AssertionError("rank " + rank + " did not print \"" + text + "\":" + allOutput());
            }
            processes.get(rank).waitFor(10, TimeUnit.MILLISECONDS);
        }
    }

    /** Waits until a rank has ended, and returns its exit status. */
    public int awaitExit(int rank) throws IOException, InterruptedException {
        return awaitExit(rank, options.limit);
    }

    /** Waits until a rank has ended, for at most {@code limit}, and returns its exit status. */
    public int awaitExit(int rank, Duration limit) throws IOException, InterruptedException {
        if (!processes.get(rank).waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
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
            process.waitFor(DUMP_TIME.toMillis(), TimeUnit.MILLISECONDS); // gives it time to print
        }
    }

    /** Kills a rank with SIGKILL. */
    public void kill(int rank) {
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
