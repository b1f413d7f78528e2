package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataType;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Failures of operations on device memory that the host executes. Ranks get the errors of host operations, and streams
 * continue.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedFailuresTest {

    private static final int COUNT = 4096; // two chunks
    private static final long ABORT_NANOS = TimeUnit.SECONDS.toNanos(15); // well below the time-out of operations

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    private static LocalRanks start(int size, Duration timeout) {
        CommunicatorConfig config = EmulatedGpus.config()
                .setting("JCCL_GPU_HOST_STAGING", "on")
                .setting("JCCL_GPU_HOST_STAGING_BUFFSIZE", "16K")
                .timeout(timeout)
                .build();
        return LocalRanks.start(size, config);
    }

    private static Work allReduce(Communicator comm, DeviceMemory memory, int count) {
        return comm.on(memory.stream()).allReduce(memory.elements(count, DataType.FLOAT32), ReduceOp.SUM);
    }

    /**
     * Runs {@code odd} on rank 1 while the others all-reduce. Returns each rank's failure; null for rank 1 if {@code
     * odd} returns null. Streams finish the work that was enqueued on them.
     */
    private static List<JcclException> failures(LocalRanks ranks, LocalRanks.RankTask<Work> odd) {
        ranks.run(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 8 * COUNT)) {
                allReduce(comm, memory, COUNT).await();
                allReduce(comm, memory, 10).await();
            }
        });
        return ranks.call(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 8 * COUNT)) {
                if (comm.rank() == 1) {
                    Work mine = odd.run(comm);
                    return mine == null ? null : catchThrowableOfType(JcclException.class, mine::await);
                }
                // A call of a late rank may throw before there is anything to await.
                return catchThrowableOfType(JcclException.class, () -> {
                    Work work = allReduce(comm, memory, COUNT);
                    Work later = allReduce(comm, memory, COUNT / 2);
                    JcclException failure = catchThrowableOfType(JcclException.class, work::await);
                    assertThatThrownBy(later::await).isInstanceOf(failure.getClass());
                    throw failure;
                });
            }
        });
    }

    /** The two counts differ, but the first chunks of both operations have the same size. */
    @Test
    void mismatchOfCountsHasARowPerRank() {
        try (LocalRanks ranks = start(3, LocalRanks.TIMEOUT);
                DeviceMemory memory = new DeviceMemory(0, 8 * COUNT)) {
            long begin = System.nanoTime();
            for (JcclException failure : failures(ranks, comm -> allReduce(comm, memory, 2 * COUNT))) {
                assertThat(failure).isInstanceOf(MismatchedCollectiveException.class);
                List<RankOperation> rows = ((MismatchedCollectiveException) failure).rows();
                assertThat(rows).hasSize(3);
                assertThat(rows.get(1).count()).isEqualTo(2 * COUNT);
                assertThat(List.of(rows.get(0), rows.get(2)))
                        .filteredOn(RankOperation::entered)
                        .isNotEmpty()
                        .extracting(RankOperation::count)
                        .containsOnly((long) COUNT);
            }
            assertThat(System.nanoTime() - begin)
                    .as("found without waiting for the time-out")
                    .isLessThan(TimeUnit.SECONDS.toNanos(20));
        }
    }

    @Test
    void aRankThatNeverCallsIsNamedAfterTheTimeout() {
        try (LocalRanks ranks = start(3, Duration.ofSeconds(2))) {
            List<JcclException> failures = failures(ranks, comm -> null);
            for (int rank : new int[] {0, 2}) {
                assertThat(failures.get(rank))
                        .isInstanceOfSatisfying(
                                CommunicationTimeoutException.class,
                                failure -> assertThat(failure.missingRanks()).containsExactly(1))
                        .hasMessageContaining("all_reduce(type=float32 op=sum count=" + COUNT + ")");
            }
        }
    }

    @Test
    void rankThatClosesBeforeTheOperationIsNamed() {
        try (LocalRanks ranks = start(3, LocalRanks.TIMEOUT)) {
            List<JcclException> failures = failures(ranks, comm -> {
                comm.close();
                return null;
            });
            for (int rank : new int[] {0, 2}) {
                assertThat(failures.get(rank))
                        .isInstanceOfSatisfying(PeerFailedException.class, failure -> assertThat(failure.failedRanks())
                                .containsExactly(1));
            }
        }
    }

    @Test
    void abortEndsAnOperationThatWaitsForItsPeer() {
        try (LocalRanks ranks = start(2, LocalRanks.TIMEOUT);
                DeviceMemory memory = new DeviceMemory(0, 8 * COUNT)) {
            Work alone = allReduce(ranks.get(0), memory, 2 * COUNT);
            Work later = allReduce(ranks.get(0), memory, COUNT);
            assertThat(alone.isDone()).isFalse();
            long start = System.nanoTime();
            ranks.get(1).abort();
            assertThatThrownBy(alone::await).isInstanceOf(AbortedException.class);
            assertThatThrownBy(() -> later.toFuture().join()).hasCauseInstanceOf(AbortedException.class);
            memory.get(1); // the stream continues
            assertThat(System.nanoTime() - start).isLessThan(ABORT_NANOS);
        }
    }

    /** The stream does not reach the reported operation, because the stream waits for one of another communicator. */
    @Test
    void stuckStreamIsReported() {
        try (LocalRanks still = start(2, LocalRanks.TIMEOUT);
                LocalRanks ranks = start(2, Duration.ofSeconds(1));
                DeviceMemory memory = new DeviceMemory(0, 8 * COUNT);
                DeviceMemory other = new DeviceMemory(0, 8 * COUNT)) {
            Work holds = allReduce(still.get(0), memory, COUNT);
            Work held = allReduce(ranks.get(0), memory, COUNT);
            Work peer = allReduce(ranks.get(1), other, COUNT);
            assertThatThrownBy(held::await)
                    .isInstanceOf(CommunicationTimeoutException.class)
                    .hasMessageContaining(
                            "all_reduce(type=float32 op=sum count=" + COUNT + ") waiting for its stream to come to it");
            assertThatThrownBy(peer::await)
                    .isInstanceOfSatisfying(
                            CommunicationTimeoutException.class,
                            failure -> assertThat(failure.missingRanks()).containsExactly(0));
            assertThat(holds.isDone()).isFalse();
            allReduce(still.get(1), other, COUNT).await();
            holds.await();
        }
    }

    @Test
    void abortEndsTheWaitForAStuckStream() {
        try (LocalRanks still = start(2, LocalRanks.TIMEOUT);
                LocalRanks ranks = start(2, LocalRanks.TIMEOUT);
                DeviceMemory memory = new DeviceMemory(0, 8 * COUNT);
                DeviceMemory other = new DeviceMemory(0, 8 * COUNT)) {
            Work holds = allReduce(still.get(0), memory, COUNT);
            Work held = allReduce(ranks.get(0), memory, COUNT);
            assertThat(held.isDone()).isFalse();
            ranks.get(0).abort();
            assertThatThrownBy(held::await).isInstanceOf(AbortedException.class);
            allReduce(still.get(1), other, COUNT).await();
            holds.await();
        }
    }
}
