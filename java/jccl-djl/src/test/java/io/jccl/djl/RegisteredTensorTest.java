package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that tensors, which are ordinary host memory, can be registered. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegisteredTensorTest {

    /**
     * Makes glibc map each allocation of 1 MiB or more separately, so that a tensor shares no page with other memory. A
     * threshold that is set here stays constant; glibc would raise its default threshold when the engine frees memory.
     */
    private static final String OWN_PAGES = "MALLOC_MMAP_THRESHOLD_";

    @TempDir
    Path folder;

    @Test
    void ranksReduceARegisteredTensorInPlace() throws Exception {
        try (RankProcesses ranks =
                DjlRanks.in(folder).environment(OWN_PAGES, "1048576").start(2, RegisteredTensor.class)) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains(RegisteredTensor.RESULT);
            }
        }
    }
}
