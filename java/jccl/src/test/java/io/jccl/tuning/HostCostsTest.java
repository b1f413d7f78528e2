package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HostCostsTest {

    @Test
    void a_written_table_reads_back_the_same() throws IOException {
        String text = HostCosts.builtIn().toText();
        assertThat(HostCosts.read(new StringReader(text), "copy").toText()).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "step_us=0.03 | | key=step_us is missing",
                "step_us=0.03 | step_us=fast | step_us=fast: expected a number from 0 up",
                "step_us=0.03 | step_us=-1 | step_us=-1: expected a number from 0 up",
                "step_us=0.03 | step_us=1\\nstep_ns=1 | unknown key=step_ns",
            })
    void a_bad_table_is_refused_by_name(String row, String replacement, String expected) {
        String rest = replacement == null ? "" : replacement.replace("\\n", "\n");
        String text = HostCosts.builtIn().toText().replace(row, rest);
        assertThatThrownBy(() -> HostCosts.read(new StringReader(text), "mine"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mine: ")
                .hasMessageContaining(expected);
    }

    /** Times that the model itself predicts lead back to the constants they were predicted with. */
    @Test
    void calibration_recovers_the_constants_behind_its_measurements() {
        HostCosts base = HostCosts.builtIn();
        LinkCost truth = new LinkCost(0.4, 0.07);
        for (Algorithm algorithm : Algorithm.values()) {
            String key = HostCosts.key(TransportKind.SHM, algorithm, Protocol.SIMPLE);
            HostCosts real = base.with("truth", Map.of(key, truth));
            List<Measurement> measurements = new ArrayList<>();
            for (int ranks : new int[] {2, 4}) {
                CommunicatorShape shape = ChoiceTableTest.shape(ranks, 1, 8, 1);
                CostModel model = new CostModel(real, shape);
                for (long bytes = 8; bytes <= 16 << 20; bytes *= 8) {
                    Choice choice = new Choice(algorithm, Protocol.SIMPLE, 1, 32 << 10, false);
                    double micros = model.micros(Collective.ALL_REDUCE, choice, bytes);
                    measurements.add(new Measurement(shape, Collective.ALL_REDUCE, choice, bytes, micros));
                }
            }
            HostCosts fitted = HostCostsFit.fit(base, measurements, "test");
            LinkCost found = fitted.link(TransportKind.SHM, algorithm, Protocol.SIMPLE);
            assertThat(found.hopMicros()).isCloseTo(truth.hopMicros(), within(0.01));
            assertThat(found.nanosPerByte()).isCloseTo(truth.nanosPerByte(), within(0.001));
            assertThat(fitted.link(TransportKind.SHM, algorithm, Protocol.LL))
                    .isEqualTo(base.link(TransportKind.SHM, algorithm, Protocol.LL));
        }
    }

    @Test
    void one_size_alone_changes_nothing() {
        HostCosts base = HostCosts.builtIn();
        Choice choice = new Choice(Algorithm.RING, Protocol.LL, 1, 1024, false);
        Measurement only = new Measurement(ChoiceTableTest.shape(2, 1, 2, 1), Collective.ALL_REDUCE, choice, 8, 77);
        assertThat(HostCostsFit.fit(base, List.of(only), "test").link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .isEqualTo(base.link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
    }
}
