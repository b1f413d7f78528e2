package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import io.jccl.testing.JavaCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.Predicate;

/**
 * Ranks as processes that run {@link RankMain}, with their output in files. {@link #close} kills ranks that still run.
 */
final class ProcessRanks implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(10);

    /** Time for ranks to end after a test has finished with them; then their processes are killed. */
    private static final Duration END_OF_SCENARIOS = Duration.ofMillis(1500);

    private final List<RankProcess> processes = new ArrayList<>();
    private final Set<RankProcess> stopped = new HashSet<>();
    private final List<Path> outputs = new ArrayList<>();
    private final Path folder;

    private ProcessRanks(Path folder) {
        this.folder = folder;
    }

    /**
     * Starts ranks whose rendezvous server is in this process.
     *
     * @param scenario name of a scenario of {@link RankMain}
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
     * @param inside returns the command prefix of a rank, such as {@code env NAME=value}; empty for none
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

    /** Starts ranks inside commands that set a launcher's environment. Starts no rendezvous server. */
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
        List<String> all =
                new ArrayList<>(List.of(rendezvous, Integer.toString(rank), Integer.toString(size), scenario));
        all.addAll(List.of(arguments));
        processes.add(RankProcess.start(inside, output, all));
        outputs.add(output);
    }

    /** Returns what a rank has printed so far, without an unfinished last line of a rank that still runs. */
    String output(int rank) {
        // Checked before reading: a rank may end after its file was read.
        boolean isWhole = !processes.get(rank).isAlive();
        try {
            String text = new String(Files.readAllBytes(outputs.get(rank)), StandardCharsets.UTF_8);
            return isWhole ? text : text.substring(0, text.lastIndexOf('\n') + 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the output of all ranks so far: the cause of a failure is often in the output of another rank. */
    String allOutput() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < outputs.size(); rank++) {
            text.append("\n---- rank ").append(rank).append(processes.get(rank).isAlive() ? ", which runs" : "");
            text.append(" ----\n")
                    .append(output(rank))
                    .append(processes.get(rank).furtherOutput());
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
            processes.get(rank).await(POLL);
        }
    }

    /** Waits until a rank has ended by itself, and returns its exit status. */
    int awaitExit(int rank, Duration limit) throws InterruptedException {
        if (!processes.get(rank).await(limit)) {
            dumpThreads();
            throw new AssertionError("rank " + rank + " did not end:" + allOutput());
        }
        return processes.get(rank).status();
    }

    /** Kills a rank as {@code kill -9} does. */
    void kill(int rank) {
        processes.get(rank).kill();
    }

    /** Stops a rank with SIGSTOP: it keeps its connections and does nothing. */
    void stop(int rank) throws IOException, InterruptedException {
        signal(rank, "-STOP");
        stopped.add(processes.get(rank));
    }

    /** Resumes a stopped rank with SIGCONT. */
    void resume(int rank) throws IOException, InterruptedException {
        signal(rank, "-CONT");
        stopped.remove(processes.get(rank));
    }

    private void signal(int rank, String signal) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder(
                        "kill", signal, Long.toString(processes.get(rank).pid()))
                .start();
        if (kill.waitFor() != 0) {
            throw new IOException("kill " + signal + " ended with " + kill.exitValue());
        }
    }

    /** Makes every rank that still runs print the stacks of its threads. */
    private void dumpThreads() throws InterruptedException {
        for (int rank = 0; rank < processes.size(); rank++) {
            try {
                if (processes.get(rank).isAlive()) {
                    signal(rank, "-QUIT");
                    processes.get(rank).await(Duration.ofMillis(500));
                }
            } catch (IOException e) {
                continue; // the rank has ended meanwhile
            }
        }
    }

    @Override
    public void close() {
        List<String> findings = new ArrayList<>();
        long end = System.nanoTime() + END_OF_SCENARIOS.toNanos();
        try {
            for (RankProcess process : processes) {
                if (!stopped.contains(process)) {
                    process.await(Duration.ofNanos(end - System.nanoTime()));
                }
            }
            for (RankProcess process : processes) {
                String text = output(processes.indexOf(process)) + process.furtherOutput();
                if (JavaCommand.hasJniFinding(text)) {
                    findings.add(text);
                }
                process.release();
            }
        } catch (InterruptedException e) {
            processes.forEach(RankProcess::kill);
            Thread.currentThread().interrupt();
        }
        assertThat(findings).as("what -Xcheck:jni reports").isEmpty();
    }
}
