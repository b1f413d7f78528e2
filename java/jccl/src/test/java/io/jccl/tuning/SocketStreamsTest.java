package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SocketStreamsTest {

    private static SocketStreams streams(
            int hosts, int localRanks, int cores, double gbitPerSecond, boolean encrypted, String... settings) {
        Map<String, String> environment = new HashMap<>();
        for (String setting : settings) {
            environment.put(setting.split("=")[0], setting.split("=")[1]);
        }
        CommunicatorShape shape = new CommunicatorShape(
                hosts * localRanks,
                hosts,
                localRanks,
                cores,
                1,
                1,
                TransportKind.SHM,
                gbitPerSecond / 8,
                new SlotBytes(8000, 16000, 512 << 10));
        return SocketStreams.of(
                Settings.load(CommunicatorConfig.defaults(), name -> null, environment),
                shape,
                HostCosts.builtIn(),
                encrypted);
    }

    /** The built-in time per byte over sockets is 0.2187 ns, so that a thread carries 36 Gbit/s. */
    @ParameterizedTest
    @CsvSource({
        "1, 16, 1, 1",
        "10, 16, 1, 1",
        "25, 16, 1, 3",
        "100, 16, 3, 12",
        "100, 2, 2, 10",
        "100, 1, 1, 10",
        "400, 64, 8, 16",
        "400, 4, 4, 16",
    })
    void aFastLinkGetsAsManyThreadsAndConnectionsAsItNeeds(
            double gbitPerSecond, int cores, int threads, int connections) {
        assertThat(streams(2, 1, cores, gbitPerSecond, false)).isEqualTo(new SocketStreams(threads, connections));
    }

    @Test
    void ranksOfAHostShareItsCores() {
        assertThat(streams(2, 8, 16, 100, false).threads()).isEqualTo(2);
        assertThat(streams(2, 16, 16, 100, false).threads()).isEqualTo(1);
        assertThat(streams(2, 32, 16, 100, false).threads()).isEqualTo(1);
    }

    @Test
    void encryptionNeedsMoreThreads() {
        assertThat(streams(2, 1, 16, 25, true).threads()).isEqualTo(2);
        assertThat(streams(2, 1, 16, 10, true).threads()).isEqualTo(1);
    }

    @Test
    void ranksOfOneHostHaveOneConnection() {
        assertThat(streams(1, 2, 16, 400, false)).isEqualTo(new SocketStreams(1, 1));
    }

    @Test
    void settingsCountFirstAndTheOtherNumberFollows() {
        assertThat(streams(2, 1, 1, 1, false, "JCCL_SOCKET_NTHREADS=4", "JCCL_NSOCKS_PERTHREAD=2"))
                .isEqualTo(new SocketStreams(4, 8));
        assertThat(streams(2, 1, 16, 100, false, "NCCL_SOCKET_NTHREADS=1")).isEqualTo(new SocketStreams(1, 10));
        assertThat(streams(2, 1, 16, 100, false, "JCCL_SOCKET_NTHREADS=16")).isEqualTo(new SocketStreams(16, 16));
        assertThat(streams(2, 1, 16, 100, false, "NCCL_NSOCKS_PERTHREAD=1")).isEqualTo(new SocketStreams(3, 3));
        assertThat(streams(2, 1, 64, 400, false, "JCCL_NSOCKS_PERTHREAD=16")).isEqualTo(new SocketStreams(4, 64));
    }
}
