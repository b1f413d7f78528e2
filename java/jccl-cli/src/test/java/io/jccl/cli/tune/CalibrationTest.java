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

/** The way from times to a table and to a verdict, with times that a model predicts instead of measured ones. */
class CalibrationTest {

    private static final TunedMachine MACHINE =
            new TunedMachine(2, Settings.load(CommunicatorConfig.defaults()), HostCosts.builtIn());
    private static final TuneTrials TRIALS =
            new TuneTrials(MACHINE, EnumSet.allOf(TransportKind.class), TuneTrials.ladder(16 << 20), 0.01, false);

    private static List<Times> times(Trial trial, ToDoubleFunction<Times> micros) {
        List<Times> times = new ArrayList<>();
        for (int way = 0; way < trial.ways().size(); way++) {
            for (long bytes : trial.ways().get(way).sizes()) {
                Times blank = new Times(way, bytes, List.of());
                times.add(new Times(way, bytes, List.of(micros.applyAsDouble(blank))));
            }
        }
        return times;
    }

    private static double predicted(HostCosts costs, Trial trial, Times which) {
        CommunicatorShape shape = MACHINE.shape(trial.transport(), trial.ranks(), 1);
        Way way = trial.ways().get(which.way());
        double micros = new CostModel(costs, shape)
                .micros(
                        trial.collective(),
                        MACHINE.choice(shape, way, trial.collective(), which.bytes()),
                        which.bytes());
        // In place is worth it from 4 KiB on, and a step of 32 KiB is best for large operations.
        if (way.name().equals(TuneTrials.IN_PLACE)) {
            return which.bytes() < 4096 ? micros * 2 : micros / 2;
        }
        boolean slow = way.name().startsWith(TuneTrials.CHUNK)
                && !way.name().endsWith(" 32768")
                && which.bytes() >= TuneTrials.CHUNKS_MATTER_FROM;
        return slow ? micros * 3 : micros;
    }

    private static List<Trial> forTable() {
        return TRIALS.forTable(60, Path.of("in-place"), Path.of("staged"));
    }

    @Test
    void the_constants_behind_the_times_are_found() {
        HostCosts truth = HostCosts.builtIn()
                .with(General.OPERATION_US, 0.2)
                .with(General.STEP_US, 0.11)
                .with(General.OVERSUBSCRIBED_HOP_US, 1.7);
        List<String> notes = new ArrayList<>();
        Calibration calibration = new Calibration(MACHINE, notes::add);
        for (Trial trial : forTable()) {
            calibration.add(trial, times(trial, which -> predicted(truth, trial, which)));
        }
        HostCosts found = calibration.table("test");
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
    void a_row_that_contradicts_itself_stays_with_a_note() {
        List<String> notes = new ArrayList<>();
        Calibration calibration = new Calibration(MACHINE, notes::add);
        for (Trial trial : forTable()) {
            calibration.add(trial, times(trial, which -> {
                double micros = predicted(HostCosts.builtIn(), trial, which);
                boolean odd = trial.ways().get(which.way()).name().equals("ring/simple") && which.bytes() == 1024;
                return odd ? micros * 50 : micros * 1.5;
            }));
        }
        HostCosts found = calibration.table("test");
        assertThat(found.link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE))
                .isEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE));
        assertThat(found.link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .isNotEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
        assertThat(notes)
                .anyMatch(note -> note.startsWith("the row of ring/simple over shm, 2 ranks is left out: bytes=1024"));
    }

    @Test
    void regret_compares_round_by_round_with_the_fastest_way() {
        Trial trial = TRIALS.forVerification(1, Collective.ALL_REDUCE).get(0);
        int automatic = trial.ways().size() - 1;
        List<Times> times = new ArrayList<>();
        for (long bytes : trial.sizes()) {
            times.add(new Times(0, bytes, List.of(10.0, 20.0, 40.0)));
            times.add(new Times(1, bytes, List.of(50.0)));
            times.add(new Times(automatic, bytes, List.of(12.0, 24.0, 90.0)));
        }
        List<Regret.Row> rows = Regret.of(MACHINE, trial, times);
        assertThat(rows).hasSize(trial.sizes().size()).allSatisfy(row -> {
            assertThat(row.best()).isEqualTo(trial.ways().get(0).name());
            assertThat(row.bestMicros()).isEqualTo(20);
            assertThat(Math.round(row.percent())).isEqualTo(20);
        });
        assertThat(Regret.toText(rows)).contains("SLOWER BY", "16 MiB", "20 %");
    }
}
