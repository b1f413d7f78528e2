package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Zero-copy operations that fail: nothing accesses their buffers afterwards. They run in separate JVMs, because a fault
 * crashes the JVM.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InPlaceFailureTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(3L * LocalRanks.SLOWNESS);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void nothingWritesIntoABufferThatIsRefilledOrClosedAfterAnAbort(int processes) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, processes, "abort-in-place")) {
            requireFine(ranks, processes);
        }
    }

    @Test
    void processStoppedInsideAnOperationStoresNothingAfterItResumes() throws Exception {
        String timeout = Long.toString(OPERATION_TIMEOUT.toMillis());
        try (ProcessRanks ranks = ProcessRanks.start(folder, 2, "stop-in-place", timeout)) {
            ranks.awaitOutput(1, text -> text.contains("READY"), LIMIT);
            ranks.stop(1);
            ranks.awaitOutput(0, text -> text.contains(InPlaceFailures.REFILLED), LIMIT);
            ranks.resume(1);
            requireFine(ranks, 2);
        }
    }

    private static void requireFine(ProcessRanks ranks, int processes) throws InterruptedException {
        for (int rank = 0; rank < processes; rank++) {
            assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
            assertThat(ranks.output(rank)).contains(InPlaceFailures.RESULT);
        }
    }
}
