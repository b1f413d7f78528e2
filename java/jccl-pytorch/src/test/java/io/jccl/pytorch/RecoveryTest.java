package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Kills one of three ranks within its backward pass; see {@link RecoveryRank}. */
class RecoveryTest {

    @TempDir
    Path folder;

    @Test
    @Timeout(value = 4, unit = TimeUnit.MINUTES)
    void remainingRanksContinueAsIfUndisturbedAfterAKill() throws Exception {
        try (RankProcesses ranks = PyTorchRanks.in(folder).start(3, RecoveryRank.class)) {
            for (int rank : new int[] {0, 2}) {
                assertThat(ranks.awaitExit(rank)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("goes on from step").contains(RecoveryRank.RESULT);
            }
        }
    }
}
