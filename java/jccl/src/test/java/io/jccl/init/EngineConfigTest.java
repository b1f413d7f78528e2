package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EngineConfigTest {

    private static Duration peerTimeout(CommunicatorConfig.Builder builder) {
        return EngineConfig.peerTimeout(Settings.load(builder.build()));
    }

    @Test
    void a_machine_that_acknowledges_nothing_is_given_up_after_15_seconds() {
        assertThat(peerTimeout(CommunicatorConfig.builder())).isEqualTo(Duration.ofSeconds(15));
    }

    /** The connection's error, which says more, comes before the coordinator's verdict. */
    @ParameterizedTest
    @CsvSource({"8s, 6000", "2s, 1500", "1h, 2700000"})
    void it_is_given_up_before_the_silent_rank_is(String heartbeatTimeout, long millis) {
        assertThat(peerTimeout(CommunicatorConfig.builder().setting("JCCL_HEARTBEAT_TIMEOUT", heartbeatTimeout)))
                .isEqualTo(Duration.ofMillis(millis));
    }
}
