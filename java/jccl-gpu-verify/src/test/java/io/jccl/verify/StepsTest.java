package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests steps whose own time limit, or that of all steps together, runs out. */
@Timeout(60)
class StepsTest {

    @TempDir
    Path folder;

    /** A program that hangs is ended together with its children, and the steps after it are named as not run. */
    @Test
    void stepsEndInTimeAndNameWhatWasNotRun() throws IOException, InterruptedException {
        List<Report.Step> done = new ArrayList<>();
        Steps steps = new Steps(
                folder,
                done,
                new PrintStream(OutputStream.nullOutputStream()),
                Duration.ofSeconds(3),
                Map.of(),
                () -> {});
        long begin = System.nanoTime();
        Steps.Body hangs = () -> {
            ChildProcess.Result result =
                    steps.child("hangs", List.of("sh", "-c", "echo begun; sleep 600 & wait"), Map.of());
            assertThat(result.output()).isEqualTo("begun\n");
            return Steps.failure("hangs", result);
        };
        steps.step("has its time", Duration.ofMillis(500), hangs);
        steps.step("is cut short", Duration.ofSeconds(4), hangs);
        steps.step("does not begin", Duration.ofSeconds(4), hangs);
        steps.require("is needed", Duration.ofSeconds(4), hangs);
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(30));
        assertThat(done)
                .extracting(Report.Step::outcome)
                .containsExactly(
                        Report.Outcome.FAILED, Report.Outcome.NOT_RUN, Report.Outcome.NOT_RUN, Report.Outcome.FAILED);
        assertThat(done)
                .extracting(Report.Step::reason)
                .satisfiesExactly(
                        reason -> assertThat(reason).isEqualTo("its time was over; see hangs.log"),
                        reason ->
                                assertThat(reason).contains("its time was over", "of 4 s; give it more with --budget"),
                        reason -> assertThat(reason).contains("expected at least 1; give it more with --budget"),
                        reason -> assertThat(reason).contains("give it more with --budget"));
    }
}
