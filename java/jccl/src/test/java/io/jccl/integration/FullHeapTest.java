package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A full heap in one rank's process: either all results are right, or all ranks fail and name the OutOfMemoryError. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FullHeapTest {

    private static final int SIZE = 2;
    private static final Duration HOLD = Duration.ofSeconds(3); // several heartbeats
    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aFullHeapEndsNoThreadOfTheLibrary(int victim) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(
                folder, SIZE, "full-heap", Integer.toString(victim), Long.toString(HOLD.toMillis()))) {
            for (int rank = 0; rank < SIZE; rank++) {
                ranks.awaitExit(rank, LIMIT);
            }
            boolean allRight =
                    ranks.output(0).contains("RESULT ok") && ranks.output(1).contains("RESULT ok");
            boolean allNameIt = ranks.output(0).contains("FAILED")
                    && ranks.output(1).contains("FAILED")
                    && ranks.output(0).contains("OutOfMemoryError")
                    && ranks.output(1).contains("OutOfMemoryError");
            assertThat(allRight || allNameIt).as(ranks.allOutput()).isTrue();
            assertThat(ranks.output(victim)).contains("FREED").doesNotContain("Exception in thread \"jccl");
        }
    }
}
