package io.jccl.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A short run of {@code scripts/check-soak}: checks results, descriptors, threads and shared memory. Other memory takes
 * longer to judge.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoakTest {

    private static final int RUN_SECONDS = 10;

    @TempDir
    Path folder;

    @Test
    void allResultsAreRightAndNoResourceIsLeaked() throws Exception {
        assertThat(SoakMain.run(folder, RUN_SECONDS, 7)).isEmpty();
    }
}
