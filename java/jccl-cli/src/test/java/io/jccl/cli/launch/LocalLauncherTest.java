package io.jccl.cli.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests how a job ends when a rank fails. Rank 1 fails with status 3 as soon as rank 0 has created the file
 * {@code ready}. Each test has its own script for rank 0.
 */
@Timeout(60)
class LocalLauncherTest {

    private static final Duration NEVER = Duration.ofSeconds(50);

    @TempDir
    Path directory;

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    private Outcome run(String rankZero, Duration linger, Duration grace) throws IOException, InterruptedException {
        String script =
                "cd " + directory + "; if [ $JCCL_RANK = 1 ]; then until [ -e ready ]; do sleep 0.01; done; exit 3; "
                        + "fi; echo $$ >pid; " + rankZero;
        Job job = new Job(
                2,
                List.of("sh", "-c", script),
                Map.of(),
                List.of(),
                Job.Output.PREFIXED,
                new Job.Colours(false, false),
                linger,
                grace,
                false);
        PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
        return new LocalLauncher(job, out, out).run();
    }

    private void requireGone(String file) throws Exception {
        ProcessHandle.of(
                        Long.parseLong(Files.readString(directory.resolve(file)).trim()))
                .ifPresent(handle -> assertThat(handle.onExit()).succeedsWithin(Duration.ofSeconds(5)));
    }

    @Test
    void aRankThatIgnoresTermIsKilledAfterTheGracePeriod() throws Exception {
        long begin = System.nanoTime();
        Outcome outcome =
                run("trap '' TERM; echo >ready; while :; do sleep 0.05; done", Duration.ZERO, Duration.ofMillis(400));
        Duration took = Duration.ofNanos(System.nanoTime() - begin);
        assertThat(outcome).isEqualTo(new Outcome(3, 1));
        assertThat(took).isGreaterThanOrEqualTo(Duration.ofMillis(400));
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("jccl: ending the other ranks");
        requireGone("pid");
    }

    @Test
    void aRankThatHandlesTermEndsTheJobBeforeTheGracePeriodIsOver() throws Exception {
        long begin = System.nanoTime();
        Outcome outcome = run(
                "trap 'echo >tidied; exit 0' TERM; echo >ready; while :; do sleep 0.05; done", Duration.ZERO, NEVER);
        assertThat(outcome).isEqualTo(new Outcome(3, 1));
        assertThat(directory.resolve("tidied")).exists();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(NEVER);
    }

    @Test
    void processesThatARankStartedAreEndedWithIt() throws Exception {
        Outcome outcome = run("sleep 1000 & echo $! >child; echo >ready; wait", Duration.ZERO, Duration.ofSeconds(10));
        assertThat(outcome).isEqualTo(new Outcome(3, 1));
        requireGone("pid");
        requireGone("child");
    }

    @Test
    void otherRanksCanFinishTheirOutputWithinTheLingerTime() throws Exception {
        Outcome outcome = run("echo >ready; sleep 0.3; echo the last word", NEVER, Duration.ZERO);
        assertThat(outcome).isEqualTo(new Outcome(3, 1));
        assertThat(said.toString(StandardCharsets.UTF_8))
                .contains("[0] the last word")
                .doesNotContain("ending the other ranks");
    }
}
