package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RequiresGpu;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link RegisteredBuffers} on the GPUs of this host, with handles of the real driver. */
@RequiresGpu
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegistrationOnGpuTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    @BeforeEach
    void onlyWithTheLibraryOfThisBuild() {
        DeviceOnGpuTest.requireLibraryOfThisBuild();
    }

    private ProcessRanks start(int size, String scenario, String... arguments) {
        return ProcessRanks.start(
                folder,
                size,
                "registered-buffers",
                RegisteredBuffers.arguments(scenario, RankMain.OWN_LIBRARY, arguments));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void everyCollectiveInPlaceMatchesTheResultsWithSlots(int size) throws Exception {
        try (ProcessRanks ranks = start(size, "results")) {
            RegisteredBuffers.requireResults(ranks, size);
            for (int rank = 0; rank < size; rank++) {
                assertThat(ranks.output(rank)).contains("REGISTERED truetruetrue");
            }
        }
    }

    @Test
    void noRankWritesToBuffersOfAnotherWhoseOperationWasAborted() throws Exception {
        try (ProcessRanks ranks = start(2, "abort")) {
            RegisteredBuffers.requireResults(ranks, 2);
        }
    }

    @Test
    void ranksGoOnWithTheirBuffersWhenOneIsKilled() throws Exception {
        try (ProcessRanks ranks = start(2, "work", "60000")) {
            ranks.awaitOutput(1, output -> output.contains(RegisteredBuffers.READY), LIMIT);
            ranks.kill(1);
            assertThat(ranks.awaitExit(0, LIMIT)).as(ranks.allOutput()).isZero();
            assertThat(ranks.output(0))
                    .contains(RegisteredBuffers.FAILED)
                    .contains("PeerFailedException")
                    .contains(RegisteredBuffers.RESULT);
        }
    }
}
