package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The GPU backend from Java to its kernels, on emulated GPUs: two of them, no driver and no GPU needed. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedDeviceTest extends DeviceScenarios {

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    @Override
    CommunicatorConfig.Builder config() {
        return EmulatedGpus.config();
    }

    @Override
    Duration abortLimit() {
        return Duration.ofSeconds(20);
    }

    @Override
    int tortureRounds() {
        return 5;
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1, ring, simple",
        "2, 1, ring, simple",
        "3, 1, ring, ll",
        "3, 1, ring, ll128",
        "2, 2, ring, ll",
        "4, 2, tree, simple"
    })
    void everyCollectiveHasTheHostsBits(int size, int devices, String algorithm, String protocol) {
        DeviceCollectives.compare(size, devices, algorithm, protocol);
    }

    @Test
    void tooManyRanksOnAGpuAreRefused() {
        assertThatThrownBy(() -> LocalRanks.start(9, config().build()).close())
                .hasMessageContaining("ranks=9 blocks=8: more ranks share this GPU than blocks");
    }
}
