package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.tuning.HostCosts.General;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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
                "step_us=\\S+ | | key=step_us is missing",
                "step_us=\\S+ | step_us=fast | step_us=fast: expected a number from 0 up",
                "shm.ring.ll.ns_per_byte=.* | shm.ring.ll.ns_per_byte=1 2 | expected one number, or 5",
                "shm.ring.ll.ns_per_byte=.* | shm.ring.ll.ns_per_byte=1 2 3 4 x | ns_per_byte=x: expected a number",
                "step_us=\\S+ | step_us=-1 | step_us=-1: expected a number from 0 up",
                "step_us=\\S+ | step_us=1\\nstep_ns=1 | unknown key=step_ns",
            })
    void a_bad_table_is_refused_by_name(String row, String replacement, String expected) {
        String rest = replacement == null ? "" : replacement.replace("\\n", "\n");
        String text = HostCosts.builtIn().toText().replaceFirst(row, rest);
        assertThatThrownBy(() -> HostCosts.read(new StringReader(text), "mine"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mine: ")
                .hasMessageContaining(expected);
    }

    @Test
    void a_time_per_byte_lies_between_those_of_the_sizes_beside_it() {
        LinkCost cost = new LinkCost(0, List.of(1.0, 2.0, 3.0, 4.0, 5.0));
        assertThat(cost.nanosPerByte(8)).isEqualTo(1);
        assertThat(cost.nanosPerByte(8 << 10)).isEqualTo(2);
        assertThat(cost.nanosPerByte(Math.sqrt(8.0 * 64) * 1024)).isCloseTo(2.5, within(1e-9));
        assertThat(cost.nanosPerByte(1e12)).isEqualTo(5);
    }

    @Test
    void the_settings_name_a_table_by_its_file(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("mine.properties");
        HostCosts mine = HostCosts.builtIn().with(General.STEP_US, 0.77);
        Files.writeString(file, mine.toText());
        Settings settings = settings(file.toString());
        assertThat(HostCosts.of(settings).get(General.STEP_US)).isEqualTo(0.77);
        assertThat(HostCosts.of(settings).fingerprint())
                .isEqualTo(mine.fingerprint())
                .isNotEqualTo(HostCosts.builtIn().fingerprint());
        assertThat(HostCosts.of(settings("")).fingerprint())
                .isEqualTo(HostCosts.builtIn().fingerprint());
    }

    @Test
    void a_file_that_is_no_table_is_refused_by_name(@TempDir Path directory) throws IOException {
        Path missing = directory.resolve("missing");
        assertThatThrownBy(() -> HostCosts.of(settings(missing.toString())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_HOST_COSTS=" + missing + ": cannot be read")
                .hasMessageContaining("jccl tune -o FILE");
        Path bad = directory.resolve("bad");
        Files.writeString(bad, "step_us=\\uzzzz");
        assertThatThrownBy(() -> HostCosts.of(settings(bad.toString())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_HOST_COSTS=" + bad + ": is no properties file");
    }

    private static Settings settings(String file) {
        return Settings.load(
                CommunicatorConfig.builder().setting("JCCL_HOST_COSTS", file).build());
    }

    @Test
    void steps_and_turns_are_recovered_from_what_the_model_predicts() {
        HostCosts real = HostCosts.builtIn()
                .with(General.STEP_US, 0.31)
                .with(General.OVERSUBSCRIBED_HOP_US, 2.5)
                .with(General.ZERO_COPY_MIN_BYTES, 0);
        List<Measurement> chunks = new ArrayList<>();
        CommunicatorShape roomy = ChoiceTableTest.shape(2, 1, 2, 1);
        for (int chunk = 1024; chunk <= 16 << 10; chunk *= 2) {
            for (long bytes : new long[] {16 << 10, 64 << 10}) {
                chunks.add(predicted(real, roomy, new Choice(Algorithm.RING, Protocol.SIMPLE, 1, chunk, false), bytes));
            }
        }
        assertThat(HostCostsFit.stepMicros(chunks)).hasValueCloseTo(0.31, within(1e-6));
        assertThat(HostCostsFit.stepMicros(chunks.subList(0, 1))).isEmpty();

        List<Measurement> crowded = new ArrayList<>();
        for (Algorithm algorithm : Algorithm.values()) {
            Choice choice = new Choice(algorithm, Protocol.LL, 1, 1024, false);
            crowded.add(predicted(real, ChoiceTableTest.shape(4, 1, 2, 1), choice, 64));
        }
        assertThat(HostCostsFit.crowded(real, General.OVERSUBSCRIBED_HOP_US, crowded))
                .hasValueCloseTo(2.5, within(1e-6));
        assertThat(HostCostsFit.crowded(real, General.OVERSUBSCRIBED_HOP_US, chunks))
                .isEmpty();
        assertThat(HostCostsFit.crowded(
                        real.with(General.OVERSUBSCRIBED_DIRECT_FACTOR, 9),
                        General.OVERSUBSCRIBED_DIRECT_FACTOR,
                        crowded))
                .hasValueCloseTo(real.get(General.OVERSUBSCRIBED_DIRECT_FACTOR), within(1e-6));
        HostCosts fitted = HostCostsFit.fit(HostCosts.builtIn(), crowded, "crowded");
        assertThat(fitted.link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .as("rows come from ranks with a core each")
                .isEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
    }

    private static Measurement predicted(HostCosts costs, CommunicatorShape shape, Choice choice, long bytes) {
        double micros = new CostModel(costs, shape).micros(Collective.ALL_REDUCE, choice, bytes);
        return new Measurement(shape, Collective.ALL_REDUCE, choice, bytes, micros);
    }

    /** Times that the model itself predicts lead back to the constants they were predicted with. */
    @Test
    void calibration_recovers_the_constants_behind_its_measurements() {
        HostCosts base = ChoiceTableTest.fixedCosts();
        LinkCost truth = new LinkCost(0.4, List.of(0.09, 0.07, 0.05, 0.06, 0.2));
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
            for (int bytes : LinkCost.SIZES) {
                assertThat(found.nanosPerByte(bytes)).isCloseTo(truth.nanosPerByte(bytes), within(0.001));
            }
            assertThat(fitted.link(TransportKind.SHM, algorithm, Protocol.LL))
                    .isEqualTo(base.link(TransportKind.SHM, algorithm, Protocol.LL));
        }
    }

    @Test
    void one_size_alone_changes_nothing() {
        HostCosts base = ChoiceTableTest.fixedCosts();
        Choice choice = new Choice(Algorithm.RING, Protocol.LL, 1, 1024, false);
        Measurement only = new Measurement(ChoiceTableTest.shape(2, 1, 2, 1), Collective.ALL_REDUCE, choice, 8, 77);
        assertThat(HostCostsFit.fit(base, List.of(only), "test").link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .isEqualTo(base.link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
    }
}
