package io.jccl.cli.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the decisions about a job whose processes fail; no process is started. */
class ElasticJobTest {

    private static final int KILLED = 137;
    private static final Optional<Outcome> SUCCESS = Optional.of(new Outcome(0, -1));

    @TempDir
    Path directory;

    private final List<String> log = new ArrayList<>();
    private final List<String> started = new ArrayList<>();
    private long now;

    private ElasticJob job(int processes, int min, int restarts) throws IOException {
        for (int process = 0; process < processes; process++) {
            member(process, 0);
        }
        Elastic elastic = new Elastic(min, restarts, Duration.ofMillis(100), Duration.ofSeconds(1));
        return new ElasticJob(
                processes, elastic, directory, (process, joins) -> started.add(process + " joins=" + joins), log::add);
    }

    private void member(int process, int generation) throws IOException {
        Files.writeString(
                directory.resolve("member-" + process),
                "id\nrank " + process + " of 3 in generation " + generation + "\n");
    }

    private void pass(ElasticJob job, long millis) throws IOException {
        now += Duration.ofMillis(millis).toNanos();
        job.tick(now);
    }

    @Test
    void aProcessThatFailsStartsAgainAndJoins() throws IOException {
        ElasticJob job = job(3, 2, 10);
        job.ended(1, KILLED, now);
        assertThat(log)
                .containsExactly(
                        "process 1, rank 1 of 3 in generation 0, ended with status 137 (SIGKILL); it starts again"
                                + " in 100 ms and joins, restart 1 of 10; 2 of 3 processes live");
        pass(job, 99);
        assertThat(started).isEmpty();
        pass(job, 1);
        assertThat(started).containsExactly("1 joins=true");
        member(1, 2);
        pass(job, 50);
        assertThat(log).last().isEqualTo("process 1 has joined as rank 1 of 3 in generation 2");
        assertThat(job.outcome()).isEmpty();
        for (int process = 0; process < 3; process++) {
            assertThat(job.outcome()).isEmpty();
            job.ended(process, 0, now);
        }
        assertThat(job.outcome()).isEqualTo(SUCCESS);
    }

    @Test
    void theJobEndsIfTooFewProcessesLive() throws IOException {
        ElasticJob job = job(3, 2, 10);
        job.ended(1, KILLED, now);
        assertThat(job.outcome()).isEmpty();
        job.ended(0, 3, now);
        assertThat(job.outcome()).isEqualTo(Optional.of(new Outcome(3, 0)));
        pass(job, 10_000);
        assertThat(started).as("nothing starts in a job that is over").isEmpty();
    }

    @Test
    void aProcessThatFailsBeforeItHasJoinedWaitsLongerEachTime() throws IOException {
        ElasticJob job = job(3, 2, 10);
        job.ended(2, 1, now);
        for (long wait : new long[] {100, 200, 400, 800, 1000, 1000}) {
            pass(job, wait - 1);
            int before = started.size();
            pass(job, 1);
            assertThat(started).as("after %d ms", wait).hasSize(before + 1);
            job.ended(2, 1, now);
        }
        pass(job, 1000);
        member(2, 1);
        pass(job, 1);
        job.ended(2, 1, now);
        assertThat(log).last().asString().contains("in 100 ms");
    }

    @Test
    void noProcessStartsAgainAfterTheLastRestart() throws IOException {
        ElasticJob job = job(3, 1, 1);
        job.ended(0, KILLED, now);
        job.ended(1, KILLED, now);
        assertThat(log).last().asString().contains("all restarts=1 are used; 1 of 3 processes live");
        pass(job, 1000);
        assertThat(started).containsExactly("0 joins=true");
    }

    /** A process that still waits to join, or to be started, would find no member to join. */
    @Test
    void aJobIsOverWhenAllItsMembersHaveSucceeded() throws IOException {
        ElasticJob job = job(3, 1, 10);
        job.ended(0, KILLED, now);
        pass(job, 100);
        job.ended(1, 0, now);
        assertThat(job.outcome()).isEmpty();
        job.ended(2, 0, now);
        assertThat(job.outcome()).as("process 0 has not joined").isEqualTo(SUCCESS);
    }

    /** The state of the job is lost with its last member. */
    @Test
    void aJobWithoutLivingMembersIsOver() throws IOException {
        ElasticJob job = job(2, 1, 10);
        job.ended(0, KILLED, now);
        pass(job, 100);
        assertThat(job.outcome()).isEmpty();
        member(0, 2); // process 0 has joined; the job notices this at the next event
        job.ended(1, 3, now);
        assertThat(job.outcome()).isEmpty();
        job.ended(0, 4, now);
        assertThat(job.outcome()).isEqualTo(Optional.of(new Outcome(4, 0)));
    }

    @Test
    void noProcessStartsAgainOnceAnotherHasSucceeded() throws IOException {
        ElasticJob job = job(3, 2, 10);
        job.ended(0, 0, now);
        job.ended(1, KILLED, now);
        assertThat(log).last().asString().contains("others have ended well, so it is not started again");
        job.ended(2, 0, now);
        assertThat(job.outcome()).isEqualTo(SUCCESS);
        assertThat(started).isEmpty();
    }

    @Test
    void badNumbersAreRefused() {
        assertThatThrownBy(() -> new Elastic(0, 1, Duration.ZERO, Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("min=0 restarts=1: expected at least 1 process and 0 restarts");
    }
}
