package io.jccl.cli.tune;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.tuning.HostCosts;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PhaseTest {

    private static final TunedHost HOST =
            new TunedHost(2, 1, Settings.load(CommunicatorConfig.defaults()), HostCosts.builtIn());
    private static final MeasurementPlan PLAN =
            new MeasurementPlan(HOST, EnumSet.of(TransportKind.SHM), MeasurementPlan.ladder(1 << 20), 0.01, false);

    private static List<MeasurementRun> runs(double seconds) {
        return PLAN.forProfile(seconds, Path.of("in-place"), Path.of("staged"));
    }

    @Test
    void theRunsOfAPlanFollowEachOther() {
        List<MeasurementRun> runs = runs(60);
        double before = 0;
        for (int i = 0; i < runs.size(); i++) {
            Phase phase = runs.get(i).phase();
            assertThat(phase).isEqualTo(new Phase(i + 1, runs.size(), before, 60, 0));
            before += runs.get(i).seconds();
        }
        assertThat(before).isBetween(59.999, 60.001);
    }

    @Test
    void aPhaseDescribesTheProgressAndTheRemainingTime() {
        MeasurementRun run = runs(60).get(1).at(new Phase(2, 3, 20, 120, 15), 50);
        assertThat(run.phase().describe(run, "round 3, 64 B", 10))
                .isEqualTo("run 2 of 3, shm, 2 ranks, round 3, 64 B: 25 %, about 1 min 45 s left");
        assertThat(run.phase().describe(run, "", 80))
                .as("a first round that takes longer than planned")
                .isEqualTo("run 2 of 3, shm, 2 ranks: 58 %, about 1 min 5 s left");
        assertThat(Phase.ONLY.describe(run, "", 1)).endsWith(": 0 %, about 0 s left");
    }

    @ParameterizedTest
    @CsvSource({"-1, 0 s", "0.4, 0 s", "59.4, 59 s", "59.6, 1 min 0 s", "3725, 62 min 5 s"})
    void durationsAreInMinutesAndSeconds(double seconds, String text) {
        assertThat(Phase.duration(seconds)).isEqualTo(text);
    }

    @Test
    void theOverheadOfEarlierRunsIsExpectedOfTheRemainingOnes() {
        AtomicLong nanos = new AtomicLong(5);
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        RunProgress progress = new RunProgress(new PrintStream(err, true, StandardCharsets.UTF_8), true, nanos::get);
        MeasurementRun first = runs(60).get(0).at(new Phase(1, 3, 0, 60, 0), 20);
        MeasurementRun second = runs(60).get(1).at(new Phase(2, 3, 20, 60, 0), 20);
        assertThat(progress.begin(first)).isEqualTo(first);
        nanos.addAndGet(30_000_000_000L);
        assertThat(progress.begin(second).phase().overheadSeconds()).isEqualTo(10);
        assertThat(err.toString(StandardCharsets.UTF_8))
                .isEqualTo("jccl tune: run 1 of 3, shm, 1 rank: 0 %, about 1 min 0 s left\n"
                        + "jccl tune: run 2 of 3, shm, 2 ranks: 33 %, about 50 s left\n");
    }
}
