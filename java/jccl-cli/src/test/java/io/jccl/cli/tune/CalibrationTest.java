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
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;

/** Profiles and slowdowns from times that a model predicts instead of measured ones. */
class CalibrationTest {

    private static final TunedHost HOST =
            new TunedHost(2, Settings.load(CommunicatorConfig.defaults()), HostCosts.builtIn());
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
        // In place is worth it from 4 KiB on, and a step of 32 KiB is best for large operations.
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
    void aRowThatContradictsItselfStaysWithANote() {
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
    void slowdownComparesRoundByRoundWithTheFastestConfiguration() {
        MeasurementRun run = PLAN.forVerification(1, Collective.ALL_REDUCE).get(0);
        int automatic = run.configurations().size() - 1;
        List<Times> times = new ArrayList<>();
        for (long bytes : run.sizes()) {
            times.add(new Times(0, bytes, List.of(10.0, 20.0, 40.0)));
            times.add(new Times(1, bytes, List.of(50.0)));
            times.add(new Times(automatic, bytes, List.of(12.0, 24.0, 90.0)));
        }
        List<Slowdown.Row> rows = Slowdown.of(HOST, run, times);
        assertThat(rows).hasSize(run.sizes().size()).allSatisfy(row -> {
            assertThat(row.best()).isEqualTo(run.configurations().get(0).name());
            assertThat(row.bestMicros()).isEqualTo(20);
            assertThat(Math.round(row.percent())).isEqualTo(20);
        });
        assertThat(Slowdown.toText(rows)).contains("SLOWER BY", "16 MiB", "20 %");
    }
}
