package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.Work;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Three ranks call operations with roots 0, 1 and 0. Each of them gets an error, at the latest when it closes. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RootsThatDifferTest {

    private static final Duration LIMIT = Duration.ofSeconds(60L * LocalRanks.SLOWNESS);
    private static final int[] COUNTS = {0, 4, 1 << 20};
    private static final Collective[] WITH_ROOT = {
        Collective.BROADCAST, Collective.SCATTER, Collective.REDUCE, Collective.GATHER
    };

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"p2p, direct", "p2p, ring", "p2p, tree", "socket, direct", "socket, ring"})
    void everyRankThatIsAThreadGetsTheError(String transport, String algorithm) {
        try (LocalRanks ranks = start(transport, algorithm)) {
            ranks.run(RootsThatDifferTest::everyCase);
        }
    }

    @ParameterizedTest
    @CsvSource({"shm, direct", "shm, ring", "socket, direct"})
    void everyRankThatIsAProcessGetsTheError(String transport, String algorithm) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "roots", transport, algorithm)) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
        }
    }

    /** The wrong root of a rank is found although its next operation is the same as the others'. */
    @ParameterizedTest
    @EnumSource(
            value = Collective.class,
            names = {"BARRIER", "ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL"})
    void nextOperationThatDependsOnAllRanksFails(Collective collective) {
        try (LocalRanks ranks = start("p2p", "ring")) {
            ranks.run(base -> {
                for (int count : COUNTS) {
                    base.barrier().await();
                    Communicator comm = base.split(0, base.rank()).orElseThrow();
                    comm.barrier().await();
                    JcclException failure = catchThrowableOfType(JcclException.class, () -> {
                        call(comm, Collective.BROADCAST, comm.rank() == 1 ? 1 : 0, count);
                        call(comm, collective, 0, count).await();
                    });
                    comm.close();
                    requireRoots(failure, Collective.BROADCAST, 2);
                }
            });
        }
    }

    @Test
    void firstMismatchOfEightBroadcastsIsNamed() {
        try (LocalRanks ranks = start("p2p", "direct")) {
            ranks.run(base -> {
                Communicator comm = base.split(0, base.rank()).orElseThrow();
                comm.barrier().await();
                JcclException failure = failure(base, comm, () -> {
                    for (int round = 0; round < 8; round++) {
                        call(comm, Collective.BROADCAST, round >= 2 && comm.rank() == 1 ? 1 : 0, 4)
                                .await();
                    }
                });
                requireRoots(failure, Collective.BROADCAST, 4);
            });
        }
    }

    /** A rank waits in the second operation for a rank that still waits in the first one. */
    @Test
    void rankThatWaitsInALaterOperationGetsTheFirstMismatch() {
        try (LocalRanks ranks = start("p2p", "direct")) {
            ranks.run(base -> {
                Communicator comm = base.split(0, base.rank()).orElseThrow();
                long begin = System.nanoTime();
                JcclException failure = failure(base, comm, () -> {
                    call(comm, Collective.GATHER, comm.rank() == 1 ? 2 : 1, 4).await();
                    call(comm, Collective.GATHER, comm.rank(), 4).await();
                });
                assertThat(failure).isInstanceOf(MismatchedCollectiveException.class);
                assertThat(failure.getMessage()).contains("rank 1 ", " root=2", " root=1 in gather at sequence=1;");
                assertThat(((MismatchedCollectiveException) failure).rows())
                        .extracting(RankOperation::sequence)
                        .containsOnly(1L);
                assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin))
                        .as("found without waiting for the time-out")
                        .isLessThan(LocalRanks.TIMEOUT.toMillis() / 2);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void ranksThatCallNoFurtherOperationSoonGetTheError(String transport) {
        try (LocalRanks ranks = start(transport, "direct")) {
            ranks.run(base -> {
                Communicator comm = base.split(0, base.rank()).orElseThrow();
                call(comm, Collective.BROADCAST, comm.rank() == 1 ? 1 : 0, 4).await();
                JcclException failure = null;
                long end = System.nanoTime() + LIMIT.toNanos() / 4;
                while (failure == null && System.nanoTime() < end) {
                    LockSupport.parkNanos(10_000_000);
                    // An empty group sends nothing, so it throws only a failure that this rank has received.
                    failure = catchThrowableOfType(
                            JcclException.class, () -> comm.group(group -> {}).await());
                }
                comm.close();
                requireRoots(failure, Collective.BROADCAST, 1);
            });
        }
    }

    private static LocalRanks start(String transport, String algorithm) {
        return LocalRanks.start(
                3,
                LocalRanks.config()
                        .transport(TransportKind.parse(transport))
                        .setting("JCCL_ALGO", algorithm)
                        .build());
    }

    /** Runs every collective that has a root with every count of elements. Each case has its own communicator. */
    static void everyCase(Communicator base) {
        for (Collective collective : WITH_ROOT) {
            for (int count : COUNTS) {
                base.barrier().await();
                Communicator comm = base.split(0, base.rank()).orElseThrow();
                comm.barrier().await();
                JcclException failure =
                        failure(base, comm, () -> call(comm, collective, comm.rank() == 1 ? 1 : 0, count)
                                .await());
                requireRoots(failure, collective, 2);
            }
        }
    }

    /** Runs calls, then closes the communicator. Returns the exception of the calls, else that of close(). */
    private static JcclException failure(Communicator base, Communicator comm, Runnable calls) {
        JcclException failed = catchThrowableOfType(JcclException.class, calls::run);
        base.barrier().await(); // close() waits for late ranks, but not forever
        JcclException closed = catchThrowableOfType(JcclException.class, comm::close);
        assertThat(failed == null || closed == null)
                .as("close() does not throw after the calls have thrown")
                .isTrue();
        return failed == null ? closed : failed;
    }

    private static void requireRoots(JcclException failure, Collective collective, long sequence) {
        assertThat(failure).as(collective.label()).isInstanceOf(MismatchedCollectiveException.class);
        List<RankOperation> rows = ((MismatchedCollectiveException) failure).rows();
        assertThat(rows).extracting(RankOperation::sequence).containsOnly(sequence);
        assertThat(rows)
                .filteredOn(RankOperation::entered)
                .hasSizeGreaterThan(1)
                .allSatisfy(row -> assertThat(row.root()).isEqualTo(row.rank() == 1 ? 1 : 0));
        boolean allEntered = rows.stream().allMatch(RankOperation::entered); // on a busy host a rank may be late
        assertThat(failure.getMessage())
                .startsWith(allEntered ? "rank 1 called root=1, ranks 0 and 2 root=0 in " : "rank ")
                .contains(
                        "rank 1 ",
                        " root=0",
                        " root=1",
                        " in " + collective.label() + " at sequence=" + sequence + ";");
    }

    private static Work call(Communicator comm, Collective collective, int root, int count) {
        boolean isRoot = comm.rank() == root;
        DataBuffer one = DataBuffer.of(new float[count]);
        DataBuffer all = DataBuffer.of(new float[3 * count]);
        return switch (collective) {
            case BROADCAST -> comm.broadcast(one, root);
            case REDUCE -> comm.reduce(one, isRoot ? DataBuffer.of(new float[count]) : null, ReduceOp.SUM, root);
            case GATHER -> comm.gather(one, isRoot ? all : null, root);
            case SCATTER -> comm.scatter(isRoot ? all : null, one, root);
            case ALL_REDUCE -> comm.allReduce(one, ReduceOp.SUM);
            case ALL_GATHER -> comm.allGather(one, all);
            case REDUCE_SCATTER -> comm.reduceScatter(all, one, ReduceOp.SUM);
            case ALL_TO_ALL -> comm.allToAll(all, DataBuffer.of(new float[3 * count]));
            case BARRIER -> comm.barrier();
            default -> throw new IllegalArgumentException("collective=" + collective);
        };
    }
}
