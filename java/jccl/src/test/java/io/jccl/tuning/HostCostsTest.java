package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.tuning.HostCosts.General;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HostCostsTest {

    private static String builtIn() throws IOException {
        try (InputStream in = HostCosts.class.getResourceAsStream(HostCosts.RESOURCE)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
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
    void anInvalidTableIsRefusedByName(String row, String replacement, String expected) throws IOException {
        String rest = replacement == null ? "" : replacement.replace("\\n", "\n");
        String text = builtIn().replaceFirst(row, rest);
        assertThatThrownBy(() -> HostCosts.read(new StringReader(text), "mine"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mine: ")
                .hasMessageContaining(expected);
    }

    @Test
    void aTimePerByteIsInterpolatedBetweenSizes() {
        LinkCost cost = new LinkCost(0, List.of(1.0, 2.0, 3.0, 4.0, 5.0));
        assertThat(cost.nanosPerByte(8)).isEqualTo(1);
        assertThat(cost.nanosPerByte(8 << 10)).isEqualTo(2);
        assertThat(cost.nanosPerByte(Math.sqrt(8.0 * 64) * 1024)).isCloseTo(2.5, within(1e-9));
        assertThat(cost.nanosPerByte(1e12)).isEqualTo(5);
    }

    @Test
    void aSettingNamesTheFileOfATable(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("mine.properties");
        HostCosts mine = HostCosts.builtIn().with(General.STEP_US, 0.77);
        Files.writeString(file, builtIn().replaceFirst("step_us=\\S+", "step_us=0.77"));
        Settings settings = settings(file.toString());
        assertThat(HostCosts.of(settings).get(General.STEP_US)).isEqualTo(0.77);
        assertThat(HostCosts.of(settings).fingerprint())
                .isEqualTo(mine.fingerprint())
                .isNotEqualTo(HostCosts.builtIn().fingerprint());
        assertThat(HostCosts.of(settings("")).fingerprint())
                .isEqualTo(HostCosts.builtIn().fingerprint());
    }

    @Test
    void aFormerNameOfAKeyIsRead() throws IOException {
        String text = builtIn().replaceFirst("zero_copy_send_direct_max_bytes=\\d+", "lent_direct_max_bytes=4711");
        HostCosts costs = HostCosts.read(new StringReader(text), "mine");
        assertThat(costs.get(General.ZERO_COPY_SEND_DIRECT_MAX_BYTES)).isEqualTo(4711);
    }

    @Test
    void aFileThatIsNoTableIsRefusedByName(@TempDir Path directory) throws IOException {
        Path missing = directory.resolve("missing");
        assertThatThrownBy(() -> HostCosts.of(settings(missing.toString())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_TUNING_PROFILE=" + missing + ": cannot be read")
                .hasMessageContaining("jccl tune -o FILE");
        Path bad = directory.resolve("bad");
        Files.writeString(bad, "step_us=\\uzzzz");
        assertThatThrownBy(() -> HostCosts.of(settings(bad.toString())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_TUNING_PROFILE=" + bad + ": is no properties file");
    }

    private static Settings settings(String file) {
        return Settings.load(CommunicatorConfig.builder()
                .setting("JCCL_TUNING_PROFILE", file)
                .build());
    }
}
