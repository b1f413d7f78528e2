package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Buffers that are closed or collected while they are in use. Scenarios run in separate JVMs, because a fault crashes
 * the JVM.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostBufferLifetimeTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource
    void buffersThatEndWhileThreadsUseThemAreReleased(HostBufferScenarios scenario) throws Exception {
        check(1, scenario);
    }

    @ParameterizedTest
    @EnumSource
    void buffersThatEndWhileProcessesUseThemAreReleased(HostBufferScenarios scenario) throws Exception {
        check(2, scenario);
    }

    private void check(int processes, HostBufferScenarios scenario) throws InterruptedException {
        try (ProcessRanks ranks = ProcessRanks.start(folder, processes, "host-buffers", scenario.name())) {
            for (int rank = 0; rank < processes; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
        }
    }
}
