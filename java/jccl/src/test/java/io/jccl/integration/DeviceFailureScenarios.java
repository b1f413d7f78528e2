package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
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
import org.junit.jupiter.api.Test;

/**
 * Tests which errors ranks report when one rank calls another operation on its GPU than the others, or no operation.
 * Subclasses run them on emulated GPUs and on GPUs of this host.
 */
abstract class DeviceFailureScenarios {

    private static final int COUNT = 1000;

    /** Returns the configuration of each rank, with device 0. */
    abstract CommunicatorConfig.Builder config();

    private LocalRanks start(Duration timeout) {
        LocalRanks ranks = LocalRanks.start(3, config().timeout(timeout).build());
        // Makes the host's sequence number differ from the device's.
        ranks.run(comm -> {
            for (int i = 0; i < 5; i++) {
                comm.allReduce(DataBuffer.of(new float[7]), ReduceOp.SUM).await();
            }
        });
        return ranks;
    }

    private static Work allReduce(Communicator comm, DeviceMemory memory, int count) {
        return comm.allReduce(memory.elements(count, DataType.FLOAT32), ReduceOp.SUM);
    }

    /**
     * Runs {@code third} as the third operation of rank 1, while the others all-reduce. Returns each rank's failure;
     * null for rank 1 if {@code third} returns null.
     */
    private static List<JcclException> failures(LocalRanks ranks, LocalRanks.RankTask<Work> third) {
        return failures(ranks, LocalRanks.TIMEOUT, third);
    }

    private static List<JcclException> failures(LocalRanks ranks, Duration limit, LocalRanks.RankTask<Work> third) {
        ranks.run(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
                allReduce(comm, memory, COUNT);
                comm.barrier();
                allReduce(comm, memory, 10).await();
            }
        });
        return ranks.call(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
                if (comm.rank() == 1) {
                    Work mine = third.run(comm);
                    return mine == null ? null : catchThrowableOfType(JcclException.class, mine::await);
                }
                // A call of a late rank may throw before there is anything to await.
                return catchThrowableOfType(JcclException.class, () -> {
                    Work work = comm.within(limit).allReduce(memory.elements(COUNT, DataType.FLOAT32), ReduceOp.SUM);
                    allReduce(comm, memory, COUNT / 2);
                    work.await();
                });
            }
        });
    }

    @Test
    void mismatchOfCountsHasARowPerRank() {
        try (LocalRanks ranks = start(LocalRanks.TIMEOUT);
                DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
            long begin = System.nanoTime();
            for (JcclException failure : failures(ranks, comm -> allReduce(comm, memory, 100))) {
                assertThat(failure).isInstanceOf(MismatchedCollectiveException.class);
                List<RankOperation> rows = ((MismatchedCollectiveException) failure).rows();
                assertThat(rows).hasSize(3);
                assertThat(rows.get(1).count()).isEqualTo(100);
                // Two ranks are enough to find the mismatch; the third one may not have entered the operation yet.
                assertThat(List.of(rows.get(0), rows.get(2)))
                        .filteredOn(RankOperation::entered)
                        .isNotEmpty()
                        .extracting(RankOperation::count)
                        .containsOnly((long) COUNT);
                assertThat(failure)
                        .hasMessageContaining(" in all_reduce at sequence=3 (device)")
                        .hasMessageContaining("rank=1 sequence=3 all_reduce(type=float32 op=sum count=100)");
            }
            assertThat(System.nanoTime() - begin)
                    .as("found without waiting for the time-out")
                    .isLessThan(TimeUnit.SECONDS.toNanos(20));
        }
    }

    @Test
    void aRankThatNeverCallsIsNamedAfterTheDeadlineOfTheCall() {
        try (LocalRanks ranks = start(LocalRanks.TIMEOUT)) {
            List<JcclException> failures = failures(ranks, Duration.ofSeconds(2), comm -> null);
            for (int rank : new int[] {0, 2}) {
                assertThat(failures.get(rank))
                        .isInstanceOfSatisfying(
                                CommunicationTimeoutException.class,
                                failure -> assertThat(failure.missingRanks()).containsExactly(1))
                        .hasMessageContaining("rank=1 never entered sequence=3 (device), its last is 2")
                        .hasMessageContaining("sequence=3 all_reduce(type=float32 op=sum count=" + COUNT + ")");
            }
        }
    }

    /** A rank that writes a checkpoint may enter much later than the time-out. */
    @Test
    void aRankThatComesLaterThanTheTimeoutIsWaitedFor() {
        try (LocalRanks ranks = start(Duration.ofSeconds(1))) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
                    if (comm.rank() == 1) {
                        TimeUnit.SECONDS.sleep(3);
                    }
                    allReduce(comm, memory, COUNT).await();
                }
            });
        }
    }

    /** Rank 1 enters, but its kernel never begins, because the one before it on the stream waits for a message. */
    @Test
    void aRankThatEnteredAndStallsEndsAtTheTimeout() {
        try (LocalRanks ranks = start(Duration.ofSeconds(1))) {
            long begin = System.nanoTime();
            List<JcclException> failures = ranks.call(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
                    if (comm.rank() == 1) {
                        comm.within(Duration.ofMinutes(2)).recv(0, memory.elements(1, DataType.FLOAT32));
                    }
                    Work work = allReduce(comm, memory, COUNT);
                    return catchThrowableOfType(JcclException.class, work::await);
                }
            });
            assertThat(failures).allSatisfy(failure -> assertThat(failure)
                    .isInstanceOf(CommunicationTimeoutException.class)
                    .hasMessageContaining("sequence=1 all_reduce(type=float32 op=sum count=" + COUNT + ")"));
            assertThat(System.nanoTime() - begin)
                    .as("from the entry of the last rank")
                    .isBetween(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(60));
        }
    }

    @Test
    void rankThatClosesBeforeTheOperationIsNamed() {
        try (LocalRanks ranks = start(LocalRanks.TIMEOUT)) {
            List<JcclException> failures = failures(ranks, comm -> {
                comm.close();
                return null;
            });
            for (int rank : new int[] {0, 2}) {
                assertThat(failures.get(rank))
                        .isInstanceOfSatisfying(PeerFailedException.class, failure -> assertThat(failure.failedRanks())
                                .containsExactly(1))
                        .hasMessageContaining("before sequence=3 (device)");
            }
        }
    }
}
