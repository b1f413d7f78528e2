package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of what ranks do after a failure. {@link RecoveryRank} is one of three, of which one is killed. */
class RecoveryTest {

    @TempDir
    Path folder;

    @Test
    void noRankTakesTheStepIfOneLacksItsAverages() {
        assertThat(DistributedDataParallel.stepsToTake(new long[] {4, 1, 4, 0, 4, 1}))
                .isEqualTo(4);
    }

    @Test
    void allRanksTakeTheStepIfAllHaveItsAverages() {
        assertThat(DistributedDataParallel.stepsToTake(new long[] {4, 1, 4, 1})).isEqualTo(5);
    }

    @Test
    void ranksThatAreBehindTakeTheStepThatAnotherRankHasTaken() {
        assertThat(DistributedDataParallel.stepsToTake(new long[] {4, 1, 5, 0})).isEqualTo(5);
    }

    @Test
    void ranksOfDifferentTrainingsAreRefused() {
        assertThatThrownBy(() -> DistributedDataParallel.stepsToTake(new long[] {5, 0, 4, 0}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("rank=1 steps=4: expected 5");
    }

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
