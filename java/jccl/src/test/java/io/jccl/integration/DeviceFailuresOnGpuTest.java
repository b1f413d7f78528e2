package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.PeerFailedException;
import io.jccl.testing.RequiresGpu;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link DeviceFailureScenarios} on a GPU of this host, and the death of a process that shares the GPU. */
@RequiresGpu
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceFailuresOnGpuTest extends DeviceFailureScenarios {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    @BeforeEach
    void onlyWithTheLibraryOfThisBuild() {
        DeviceOnGpuTest.requireLibraryOfThisBuild();
    }

    @Override
    CommunicatorConfig.Builder config() {
        return LocalRanks.config().device(0);
    }

    /**
     * Two processes share a GPU. With {@code auto}, host staging is used if this host needs it; with {@code off},
     * kernels always wait for each other.
     */
    @ParameterizedTest
    @ValueSource(strings = {"auto", "off"})
    void aKilledProcessIsNamed(String staged) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 2, "device-work", RankMain.OWN_LIBRARY, staged)) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.kill(1);
            ranks.awaitOutput(0, text -> text.contains("CLOSED"), LIMIT);
            assertThat(ranks.output(0)).contains(PeerFailedException.class.getSimpleName() + "[1]");
        }
    }
}
