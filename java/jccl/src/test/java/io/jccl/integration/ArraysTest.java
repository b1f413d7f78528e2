package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.DataBuffer;
import io.jccl.LocalRanks;
import io.jccl.ReduceOp;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Operations on arrays. The ranks are threads of this JVM. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ArraysTest {

    @Test
    void arraysOfEveryTypeAreReduced() {
        LocalRanks.run(3, comm -> {
            float[] floats = {comm.rank()};
            double[] doubles = {comm.rank()};
            int[] ints = {comm.rank()};
            long[] longs = {comm.rank()};
            comm.allReduce(floats, ReduceOp.SUM).await();
            comm.allReduce(doubles, ReduceOp.SUM).await();
            comm.allReduce(ints, ReduceOp.SUM).await();
            comm.allReduce(longs, ReduceOp.SUM).await();
            assertThat(floats).containsExactly(3);
            assertThat(doubles).containsExactly(3);
            assertThat(ints).containsExactly(3);
            assertThat(longs).containsExactly(3);
        });
    }

    @Test
    void arraysAreMovedByEveryOtherOperation() {
        LocalRanks.run(2, comm -> {
            int rank = comm.rank();
            int[] all = new int[2];
            comm.allGather(new int[] {rank + 5}, all).await();
            assertThat(all).containsExactly(5, 6);
            long[] mine = new long[1];
            comm.reduceScatter(new long[] {rank, 10 + rank}, mine, ReduceOp.SUM).await();
            assertThat(mine).containsExactly(rank == 0 ? 1 : 21);
            double[] swapped = new double[2];
            comm.allToAll(new double[] {rank * 10, rank * 10 + 1}, swapped).await();
            assertThat(swapped).containsExactly(rank, 10 + rank);
            float[] sent = {rank};
            comm.broadcast(sent, 1).await();
            assertThat(sent).containsExactly(1);
            comm.reduce(sent, ReduceOp.SUM, 0).await();
            assertThat(sent).containsExactly(rank == 0 ? 2 : 1);
            int[] passed = {rank};
            int[] got = new int[1];
            comm.group(group -> group.send(1 - rank, passed).recv(1 - rank, got))
                    .await();
            assertThat(got).containsExactly(1 - rank);
        });
    }

    @Test
    void allToAllVNeedsOnlyCountsForBlocksWithoutGaps() {
        LocalRanks.run(2, comm -> {
            long[] counts = comm.rank() == 0 ? new long[] {1, 2} : new long[] {2, 1};
            int[] sent = {comm.rank() * 10, comm.rank() * 10 + 1, comm.rank() * 10 + 2};
            int[] got = new int[3];
            comm.allToAllV(DataBuffer.of(sent), counts, DataBuffer.of(got), counts)
                    .await();
            assertThat(got).isEqualTo(comm.rank() == 0 ? new int[] {0, 10, 11} : new int[] {1, 2, 12});
            assertThatThrownBy(() -> comm.allToAllV(DataBuffer.of(sent), null, DataBuffer.of(got), counts))
                    .isInstanceOf(IllegalArgumentException.class);
        });
    }

    @Test
    void failureOfOneRankEndsTheOthersAndIsThrown() {
        assertThatThrownBy(() -> LocalRanks.run(3, comm -> {
                    if (comm.rank() == 1) {
                        throw new java.io.IOException("the disk of rank 1");
                    }
                    comm.barrier().await();
                }))
                .isInstanceOf(java.io.IOException.class)
                .hasMessage("the disk of rank 1");
    }
}
