package io.jccl.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.TransportKind;
import io.jccl.testing.Seeds;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs a few rounds of {@code scripts/check-chaos}, spread over phases and faults. */
@Timeout(value = 900, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChaosTest {

    private static final int ALL = 100;

    /**
     * Distance between the seeds. With this distance, a few seeds cover every fault and every phase, in different
     * pairs.
     */
    private static final int STRIDE = 7;

    @TempDir
    Path folder;

    @Test
    void everyRoundEndsAsPromised() throws Exception {
        ChaosTable table = ChaosMain.run(
                LongStream.range(0, Seeds.of(ALL)).map(i -> i * STRIDE),
                List.of(TransportKind.SHM, TransportKind.SOCKET),
                folder,
                3,
                false);
        assertThat(table.hasFailed()).as(table.describe()).isFalse();
    }
}
