package io.jccl.cli.tune;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;

/** Tests profiles and slowdowns that are computed from predictions of a model instead of measured times. */
class CalibrationTest {

    private static final TunedHost HOST =
            new TunedHost(2, 1, Settings.load(CommunicatorConfig.defaults()), HostCosts.builtIn());
    private static final MeasurementPlan PLAN = new MeasurementPlan(
            HOST, EnumSet.allOf(TransportKind.class), MeasurementPlan.ladder(16 << 20), 0.01, false);

    private static List<Times> times(MeasurementRun run, ToDoubleFunction<Times> micros) {
        List<Times> times = new ArrayList<>();
        for (int configuration = 0; configuration < run.configurations().size(); configuration++) {
            for (long bytes : run.configurations().get(configuration).sizes()) {
                Times blank = new Times(configuration, bytes, List.of());
                times.add(new Times(configuration, bytes, List.of(micros.applyAsDouble(blank))));
            }
        }
        return times;
    }

    private static double predicted(HostCosts costs, MeasurementRun run, Times which) {
        CommunicatorShape shape = HOST.shape(run.transport(), run.ranks(), 1);
        Configuration configuration = run.configurations().get(which.configuration());
        double micros = new CostModel(costs, shape)
                .micros(
                        run.collective(),
                        HOST.choice(shape, configuration, run.collective(), which.bytes()),
                        which.bytes());
        // Simulates a host on which operating in place is faster from 4 KiB on, and chunks of 32 KiB are best for large
        // operations.
        if (configuration.name().equals(MeasurementPlan.IN_PLACE)) {
            return which.bytes() < 4096 ? micros * 2 : micros / 2;
        }
        boolean slow = configuration.name().startsWith(MeasurementPlan.CHUNK)
                && !configuration.name().endsWith(" 32768")
                && which.bytes() >= MeasurementPlan.CHUNKS_MATTER_FROM;
        return slow ? micros * 3 : micros;
    }

    private static List<MeasurementRun> forProfile() {
        return PLAN.forProfile(60, Path.of("in-place"), Path.of("staged"));
    }

    @Test
    void theConstantsBehindTheTimesAreFound() {
        HostCosts truth = HostCosts.builtIn()
                .with(General.OPERATION_US, 0.2)
                .with(General.STEP_US, 0.11)
                .with(General.OVERSUBSCRIBED_HOP_US, 1.7);
        List<String> notes = new ArrayList<>();
        Calibration calibration = new Calibration(HOST, notes::add);
        for (MeasurementRun run : forProfile()) {
            calibration.add(run, times(run, which -> predicted(truth, run, which)));
        }
        HostCosts found = calibration.profile("test");
        assertThat(found.source()).isEqualTo("test");
        assertThat(found.get(General.STEP_US)).isBetween(0.1, 0.12);
        assertThat(found.get(General.OVERSUBSCRIBED_HOP_US)).isBetween(1.5, 1.9);
        assertThat(found.get(General.CHUNK_BYTES)).isEqualTo(32 << 10);
        assertThat(found.get(General.ZERO_COPY_MIN_BYTES)).isEqualTo(4096);
        assertThat(notes)
                .as("two cores cannot show what a second channel costs")
                .singleElement()
                .asString()
                .startsWith("channel_us stays");
    }

    @Test
    void aContradictoryRowIsLeftOutWithANote() {
        List<String> notes = new ArrayList<>();
        Calibration calibration = new Calibration(HOST, notes::add);
        for (MeasurementRun run : forProfile()) {
            calibration.add(run, times(run, which -> {
                double micros = predicted(HostCosts.builtIn(), run, which);
                boolean odd =
                        run.configurations().get(which.configuration()).name().equals("ring/simple")
                                && which.bytes() == 1024;
                return odd ? micros * 50 : micros * 1.5;
            }));
        }
        HostCosts found = calibration.profile("test");
        assertThat(found.link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE))
                .isEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE));
        assertThat(found.link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .isNotEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
        assertThat(notes)
                .anyMatch(note -> note.startsWith("the row of ring/simple over shm, 2 ranks is left out: bytes=1024"));
    }

    @Test
    void slowdownComparesTheChosenFormRoundByRoundWithTheFastest() {
        MeasurementRun run =
                PLAN.forVerification(1, List.of(Collective.ALL_REDUCE)).get(0);
        int automatic = run.configurations().size() - 1;
        int forced = names(run).indexOf("direct/simple");
        List<Times> times = new ArrayList<>();
        for (long bytes : run.sizes()) {
            times.add(new Times(0, bytes, List.of(10.0, 20.0, 40.0)));
            times.add(new Times(1, bytes, List.of(50.0)));
            times.add(new Times(forced, bytes, List.of(11.0, 22.0, 44.0)));
            times.add(new Times(automatic, bytes, List.of(12.0, 24.0, 90.0)));
        }
        List<Slowdown.Row> rows = Slowdown.of(HOST, run, times);
        assertThat(rows).hasSize(run.sizes().size()).allSatisfy(row -> {
            assertThat(row.chosen()).isEqualTo("direct/simple");
            assertThat(row.best()).isEqualTo(run.configurations().get(0).name());
            assertThat(row.bestMicros()).isEqualTo(20);
            assertThat(Math.round(row.percent())).isEqualTo(15); // median of three rounds: 15, 15 and 67.5 %
            assertThat(row.repeatable()).isEqualTo(2);
        });
        assertThat(Slowdown.toText(rows)).contains("SLOWER BY", "16 MiB", "15 %");
    }

    @Test
    void theBestInOneHalfOfTheRoundsCanBeSlowInTheOther() {
        MeasurementRun run =
                PLAN.forVerification(1, List.of(Collective.ALL_REDUCE)).get(0);
        int automatic = run.configurations().size() - 1;
        List<Times> times = new ArrayList<>();
        for (long bytes : run.sizes()) {
            times.add(new Times(0, bytes, List.of(10.0, 20.0, 10.0, 20.0)));
            times.add(new Times(
                    1, bytes, bytes == 8 ? List.of(20.0, 10.0, 20.0, 10.0) : List.of(10.5, 19.0, 10.5, 19.0)));
            times.add(new Times(automatic, bytes, List.of(12.0, 24.0, 12.0, 24.0)));
        }
        assertThat(Slowdown.of(HOST, run, times))
                .allSatisfy(row -> assertThat(row.repeatable()).isEqualTo(row.bytes() == 8 ? 0 : 2));
    }

    @Test
    void onlyAlgorithmsThatACollectiveSupportsAreVerified() {
        MeasurementPlan plan =
                new MeasurementPlan(HOST, EnumSet.of(TransportKind.SHM), MeasurementPlan.ladder(1024), 0.01, false);
        List<MeasurementRun> runs = plan.forVerification(1, List.of(Collective.ALL_TO_ALL, Collective.BROADCAST));
        assertThat(runs)
                .extracting(Slowdown::title)
                .containsExactly(
                        "all_to_all over shm, 2 ranks",
                        "all_to_all over shm, 4 ranks",
                        "broadcast over shm, 2 ranks",
                        "broadcast over shm, 4 ranks");
        assertThat(names(runs.get(0))).containsExactly("direct/ll", "direct/ll128", "direct/simple", "automatic");
        assertThat(names(runs.get(2)))
                .containsExactly(
                        "ring/ll",
                        "ring/ll128",
                        "ring/simple",
                        "direct/ll",
                        "direct/ll128",
                        "direct/simple",
                        "automatic");
    }

    private static List<String> names(MeasurementRun run) {
        return run.configurations().stream().map(Configuration::name).toList();
    }

    @Test
    void theSummaryCountsTheBestChoiceAsGoodAndNamesTheWorstOthers() {
        List<Slowdown.Row> cells = List.of(
                cell(8, "ring/ll", "ring/ll", 25, 2),
                cell(64, "ring/ll", "direct/ll", 10, 0),
                cell(256, "ring/ll", "direct/ll", 11, 2),
                cell(1024, "ring/ll", "direct/simple", 43, 2));
        assertThat(Slowdown.summary(cells))
                .isEqualTo(
                        """
                        # cells: 4, at most 10 % slower than the best: 2 (50.0 %)
                        # what is best in half of the rounds is at most 10 % slower than the best in the other half: 75.0 %
                        #   reduce over shm, 2 ranks, 1 KiB: ring/ll, 43 % slower than direct/simple
                        #   reduce over shm, 2 ranks, 256 B: ring/ll, 11 % slower than direct/ll
                        """);
        assertThat(Slowdown.formsToText(cells.subList(0, 1)))
                .isEqualTo(
                        """
                SIZE  direct/ll  ring/ll
                8 B   12.0       10.0
                """);
    }

    private static Slowdown.Row cell(long bytes, String chosen, String best, double percent, int repeatable) {
        return new Slowdown.Row(
                "reduce over shm, 2 ranks",
                bytes,
                chosen,
                10,
                best,
                10,
                percent,
                Map.of("ring/ll", 10.0, "direct/ll", 12.0),
                repeatable);
    }
}
