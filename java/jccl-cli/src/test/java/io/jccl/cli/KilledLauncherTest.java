package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a job leaves no process and no file if its launcher is killed with SIGKILL. */
@Timeout(120)
class KilledLauncherTest {

    /**
     * The shell script of a rank. It starts a process in another session, writes the ids of both processes, and runs
     * for ever.
     */
    private static final String RANK = "setsid sleep 1000 & echo $! >child$JCCL_RANK; %s echo $$ >rank$JCCL_RANK; "
            + "while :; do sleep 0.05; done";

    @TempDir
    Path directory;

    @TempDir
    Path temporary;

    private final List<ProcessHandle> started = new ArrayList<>();

    @AfterEach
    void endRemainingProcesses() {
        started.forEach(ProcessHandle::destroyForcibly);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "trap '' TERM;"})
    void ranksAndTheProcessesThatTheyStartedEnd(String trapCommand) throws IOException, InterruptedException {
        String script = "cd " + directory + "; " + RANK.formatted(trapCommand);
        requireRanksAndChildrenEnd(launch("run", "-n", "2", "--grace", "0.5", "--", "sh", "-c", script));
    }

    /**
     * An outer launcher sets the rendezvous of these ranks, so the rendezvous does not show which launcher started
     * them.
     */
    @Test
    void ranksOfSeveralHostsAndTheProcessesThatTheyStartedEnd() throws IOException, InterruptedException {
        String script = "cd " + directory + "; " + RANK.formatted("");
        String[] arguments = {"run", "-n", "2", "--hosts-of-job", "--grace", "0.5", "--", "sh", "-c", script};
        ProcessBuilder builder = builder(arguments);
        builder.environment().putAll(Map.of("JCCL_RANK", "0", "JCCL_SIZE", "3", "JCCL_RENDEZVOUS", "a:1/s"));
        requireRanksAndChildrenEnd(builder.start());
    }

    private void requireRanksAndChildrenEnd(Process launcher) throws IOException, InterruptedException {
        for (String name : List.of("child0", "child1", "rank0", "rank1")) {
            started.add(
                    ProcessHandle.of(pidIn(directory.resolve(name), launcher)).orElseThrow());
        }
        requireNothingLeftAfterKill(launcher);
    }

    @Test
    void aRankWithoutTheEnvironmentOfItsJobEnds() throws IOException, InterruptedException {
        String script = "cd " + directory + "; echo $$ >rank; exec env -i sleep 1000";
        Process launcher = launch("run", "-n", "1", "-v", "--", "sh", "-c", script);
        started.add(ProcessHandle.of(pidIn(directory.resolve("rank"), launcher)).orElseThrow());
        while (!log().contains("rank 0 is process")) {
            Thread.sleep(10); // without this line, the watchdog may know the rank only by its environment
        }
        requireNothingLeftAfterKill(launcher);
    }

    @ParameterizedTest
    @CsvSource({
        "2, perf all_reduce -n 2 -e 8 --iters 1000000000",
        "1, tune --transport shm --budget 1000 --each 1000 -e 1K" // the first measurement of tune uses one rank
    })
    void ranksOfPerfAndTuneEnd(int ranks, String command) throws IOException, InterruptedException {
        Process launcher = launch(command.split(" "));
        while (started.size() < ranks) {
            assertThat(launcher.isAlive()).as(log()).isTrue();
            started.clear();
            launcher.descendants().filter(KilledLauncherTest::isRank).forEach(started::add);
            Thread.sleep(10);
        }
        requireNothingLeftAfterKill(launcher);
    }

    private static boolean isRank(ProcessHandle process) {
        return process.info().command().filter(path -> path.endsWith("java")).isPresent();
    }

    private Process launch(String... arguments) throws IOException {
        return builder(arguments).start();
    }

    private ProcessBuilder builder(String... arguments) {
        return CommandProcess.builder(directory, List.of("-Djava.io.tmpdir=" + temporary), arguments)
                .redirectOutput(directory.resolve("out").toFile());
    }

    private long pidIn(Path file, Process launcher) throws IOException, InterruptedException {
        while (!Files.exists(file) || !Files.readString(file).endsWith("\n")) {
            assertThat(launcher.isAlive()).as(log()).isTrue();
            Thread.sleep(10);
        }
        return Long.parseLong(Files.readString(file).trim());
    }

    private String log() throws IOException {
        return Files.readString(directory.resolve("err"));
    }

    private void requireNothingLeftAfterKill(Process launcher) throws IOException, InterruptedException {
        assertThat(started).allMatch(ProcessHandle::isAlive);
        launcher.destroyForcibly();
        assertThat(launcher.onExit()).succeedsWithin(Duration.ofSeconds(10));
        for (ProcessHandle process : started) {
            assertThat(process.onExit()).as("process %d", process.pid()).succeedsWithin(Duration.ofSeconds(10));
        }
        long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (!filesLeft().isEmpty() && System.nanoTime() < end) {
            Thread.sleep(10);
        }
        assertThat(filesLeft()).isEmpty();
    }

    private List<Path> filesLeft() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            return files.toList();
        }
    }
}
