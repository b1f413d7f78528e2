package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.djl.examples.ElasticTraining;
import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Kills one process of the example {@link ElasticTraining}. */
class RecoveryTest {

    @TempDir
    Path folder;

    @Test
    @Timeout(value = 6, unit = TimeUnit.MINUTES)
    void remainingRanksContinueWithEqualParametersAfterAKill() throws Exception {
        try (RankProcesses ranks = DjlRanks.in(folder).start(3, ElasticTraining.class, "30")) {
            ranks.awaitOutput(0, "epoch 3, 3 ranks");

            ranks.kill(1);

            for (int rank : new int[] {0, 2}) {
                assertThat(ranks.awaitExit(rank)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank))
                        .contains("rank " + rank + " of 3: rank 1 failed")
                        .contains("of 2 goes on from step")
                        .contains("of 2 has trained 30 epochs");
            }
            assertThat(ranks.output(0)).contains("epoch 30, 2 ranks");
        }
    }
}
