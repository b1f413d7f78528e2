package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.testing.Resources;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The costs of communicators that are split off, their independence of each other, and the order of their ends. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SplitTest {

    private static final Duration LIMIT = Duration.ofSeconds(60L * LocalRanks.SLOWNESS);
    private static final Duration SOON = Duration.ofSeconds(5L * LocalRanks.SLOWNESS);

    @TempDir
    Path folder;

    private static Communicator dup(Communicator comm) {
        return comm.split(0, comm.rank()).orElseThrow();
    }

    /** Splits off all ranks, in reverse so that rank 0 of the communicator is another process, or in their order. */
    private static Communicator copy(Communicator comm, boolean reverse) {
        return reverse ? reversed(comm) : dup(comm);
    }

    private static Communicator reversed(Communicator comm) {
        return comm.split(0, -comm.rank()).orElseThrow();
    }

    private static void requireSum(Communicator comm) {
        int[] value = {comm.rank() + 1};
        comm.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
        assertThat(value[0]).isEqualTo(comm.size() * (comm.size() + 1) / 2);
    }

    @ParameterizedTest
    @CsvSource({"2, false", "4, false", "3, true"})
    void splitsThatAreClosedLeaveNothing(int size, boolean reverse) {
        try (LocalRanks ranks = LocalRanks.start(size)) {
            ranks.run(comm -> copy(comm, reverse).close());
            Resources.Snapshot before = Resources.now();
            long begin = System.nanoTime();
            ranks.run(comm -> {
                for (int i = 0; i < 1000; i++) {
                    try (Communicator one = copy(comm, reverse)) {
                        assertThat(one.size()).isEqualTo(size);
                    }
                }
            });
            assertThat(Duration.ofNanos(System.nanoTime() - begin))
                    .isLessThan(LIMIT); // 57 to 185 s with own coordinators
            Resources.Snapshot after = Resources.now();
            assertThat(after.descriptors()).isLessThan(before.descriptors() + 10);
            assertThat(after.threads()).hasSizeLessThan(before.threads().size() + 10);
            ranks.run(SplitTest::requireSum);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSplitNeedsOneDescriptorAndNoThreadForEachRank(boolean reverse) {
        int count = 200;
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> copy(comm, reverse).close());
            Resources.Snapshot before = Resources.now();
            List<List<Communicator>> all = ranks.call(comm -> {
                List<Communicator> mine = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    mine.add(copy(comm, reverse));
                }
                return mine;
            });
            Resources.Snapshot open = Resources.now();
            assertThat(open.descriptors() - before.descriptors()).isLessThan(2 * (count + 10));
            assertThat(open.threads()).hasSizeLessThan(before.threads().size() + 10);
            ranks.run(comm -> {
                for (Communicator one : all.get(comm.rank())) {
                    requireSum(one);
                }
            });
            ranks.run(comm -> all.get(comm.rank()).forEach(Communicator::close));
        }
    }

    /** Each rank closes four communicators in an order of its own. Ranks 0 and 1 together take every pair of orders. */
    @Test
    void communicatorsCloseInAnyOrder() {
        List<List<Integer>> orders = orders();
        try (LocalRanks ranks = LocalRanks.start(3)) {
            for (int shift = 0; shift < orders.size(); shift++) {
                int round = shift;
                List<Duration> times = ranks.call(comm -> {
                    List<Communicator> four = List.of(dup(comm), reversed(comm), dup(comm), reversed(comm));
                    four.forEach(SplitTest::requireSum);
                    int order = (comm.rank() * 7 + round * (comm.rank() + 1)) % orders.size();
                    long begin = System.nanoTime();
                    orders.get(order).forEach(one -> four.get(one).close());
                    return Duration.ofNanos(System.nanoTime() - begin);
                });
                assertThat(times).allSatisfy(time -> assertThat(time).isLessThan(SOON));
            }
        }
    }

    private static List<List<Integer>> orders() {
        List<List<Integer>> orders = new ArrayList<>();
        for (int code = 0; code < 256; code++) {
            List<Integer> order = List.of(code >> 6, code >> 4 & 3, code >> 2 & 3, code & 3);
            if (order.stream().distinct().count() == 4) {
                orders.add(order);
            }
        }
        return orders;
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void aSplitWorksAfterItsParentIsClosed(boolean reverseChild, boolean reverseGrandchild) {
        LocalRanks ranks = LocalRanks.start(3);
        ranks.run(comm -> {
            copy(comm, reverseChild).close();
            Communicator child = copy(comm, reverseChild);
            Communicator grandchild = copy(child, reverseGrandchild);
            comm.close();
            requireSum(child);
            child.close();
            requireSum(grandchild);
            try (Communicator last = copy(grandchild, reverseChild)) {
                grandchild.close();
                requireSum(last);
            }
        });
        ranks.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failuresStayInTheirCommunicator(boolean reverse) {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                Communicator aborted = copy(comm, reverse);
                Communicator other = copy(comm, reverse);
                Communicator child = copy(aborted, reverse);
                comm.barrier().await();
                if (comm.rank() == 1) {
                    aborted.abort("the loss is NaN");
                }
                assertThatThrownBy(() -> aborted.barrier().await())
                        .isInstanceOf(AbortedException.class)
                        .hasMessageContaining("the loss is NaN");
                requireSum(other);
                requireSum(child);
                requireSum(comm);
                aborted.close();
                child.close();
                other.close();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSplitContinuesAfterItsParentFailed(boolean reverse) {
        LocalRanks ranks = LocalRanks.start(3);
        ranks.run(comm -> {
            Communicator child = copy(comm, reverse);
            if (comm.rank() == 2) {
                comm.abort("on purpose");
            }
            assertThatThrownBy(() -> comm.barrier().await()).isInstanceOf(AbortedException.class);
            comm.close();
            requireSum(child);
            try (Communicator grandchild = copy(child, reverse)) {
                requireSum(grandchild);
            }
            child.close();
        });
        ranks.close();
    }

    @Test
    void ranksGetTheNumbersOfTheirKeys() {
        try (LocalRanks ranks = LocalRanks.start(5)) {
            ranks.run(comm -> {
                int key = comm.rank() == 0 ? -1 : 5 - comm.rank(); // order 0 4 3 2 1
                try (Communicator all = comm.split(7, key).orElseThrow();
                        Communicator some =
                                all.split(comm.rank() % 2, all.rank()).orElseThrow();
                        Communicator again = dup(some)) {
                    requireSum(all);
                    requireSum(some);
                    int[] order = new int[again.size()];
                    again.allGather(DataBuffer.of(new int[] {comm.rank()}), DataBuffer.of(order))
                            .await();
                    assertThat(order).containsExactly(comm.rank() % 2 == 0 ? new int[] {0, 4, 2} : new int[] {3, 1});
                }
                assertThat(comm.split(comm.rank() == 3 ? -1 : 0, 0).isPresent()).isEqualTo(comm.rank() != 3);
            });
        }
    }

    /** The groups of each round are the same at first. Then ranks change sides, so that their connections do not suffice. */
    @Test
    void groupsWithoutRankZeroWork() {
        try (LocalRanks ranks = LocalRanks.start(6)) {
            ranks.run(comm -> {
                List<Communicator> open = new ArrayList<>();
                for (int round = 0; round < 12; round++) {
                    int color = (comm.rank() + (round < 8 ? 0 : round) * (comm.rank() / 3)) % 2;
                    Communicator half = comm.split(color, comm.rank()).orElseThrow();
                    requireSum(half);
                    try (Communicator again = dup(half)) {
                        requireSum(again);
                    }
                    if (round % 3 == 0) {
                        half.close();
                    } else {
                        open.add(half);
                    }
                }
                open.forEach(SplitTest::requireSum);
                open.forEach(Communicator::close);
            });
        }
    }

    @Test
    void namesThatDifferAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                assertThatThrownBy(() -> comm.split(0, 0, "name" + comm.rank()))
                        .isInstanceOf(BootstrapException.class)
                        .hasMessageContaining("\"name0\" on rank=0 but \"name1\" on rank=1");
                requireSum(comm);
            });
        }
    }

    /** Ranks split and close without a pause, and one is killed: somewhere in a split, an operation or a close. */
    @ParameterizedTest
    @CsvSource({"0, 1", "1, 2", "2, 3"})
    void aKilledRankIsNamedWhateverTheOthersDo(int victim, int attempt) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "splits")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            Thread.sleep(attempt * 3L);
            ranks.kill(victim);
            for (int rank = 0; rank < 3; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(rank, text -> text.contains("CLOSED"), SOON);
                    assertThat(ranks.output(rank)).contains("FAILED PeerFailedException[" + victim + "]");
                }
            }
        }
    }
}
