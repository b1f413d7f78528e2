package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Shrinking a communicator to the ranks that remain. Ranks that die are processes. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShrinkTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SOON = Duration.ofSeconds(2L * LocalRanks.SLOWNESS);
    private static final Pattern RANKS = Pattern.compile("RANKS (\\d+) rank=(\\d+) id=(\\w+)");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void theSurvivorsOfAKilledRankGoOnInTheirOldOrder(int victim) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 4, "shrink", "3", "30000")) {
            killWhenReady(ranks, 4, Set.of(), Set.of(victim));
            requireResults(ranks, 4, Set.of(victim));
        }
    }

    /**
     * One of the killed ranks is rank 0, the coordinator. The death of the other one, rank 2, goes unnoticed until
     * ranks connect to its port.
     */
    @Test
    void twoRanksKilledAtOnceAreBothLeftOut() throws Exception {
        Set<Integer> victims = Set.of(0, 2);
        try (ProcessRanks ranks = ProcessRanks.start(folder, 4, "shrink", "2", "20000")) {
            killWhenReady(ranks, 4, Set.of(), victims);
            requireResults(ranks, 4, victims);
            assertThat(ranks.output(1)).contains("FAILED [2] excluded [0]");
        }
    }

    /** Among the victims are rank 0, which coordinates, and rank 1, which would lead the shrink. */
    @Test
    void threeOfFiveRanksKilledAtOnceAreLeftOutWithinSeconds() throws Exception {
        Set<Integer> victims = Set.of(0, 1, 3);
        try (ProcessRanks ranks = ProcessRanks.start(folder, 5, "shrink", "2", "120000")) {
            killWhenReady(ranks, 5, Set.of(), victims);
            long killed = System.nanoTime();
            for (int rank : new int[] {2, 4}) {
                ranks.awaitOutput(rank, text -> text.contains("RANKS 2"), LIMIT);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(SOON);
            requireResults(ranks, 5, victims);
        }
    }

    /**
     * The second victim sees the first failure and dies before it calls shrink. If the second victim is the leader, the
     * others are searching for it when it dies.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aRankThatDiesWhileTheOthersShrinkIsLeftOutWithinSeconds(int second) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 4, "shrink", "2", "120000", Integer.toString(second))) {
            killWhenReady(ranks, 4, Set.of(), Set.of(0));
            ranks.awaitOutput(second, text -> text.contains("STAYS AWAY"), LIMIT);
            for (int rank = 1; rank < 4; rank++) {
                if (rank != second) {
                    ranks.awaitOutput(rank, text -> text.contains("WITHOUT [0]"), LIMIT);
                }
            }
            TimeUnit.MILLISECONDS.sleep(500); // the others wait in shrink by now
            long killed = System.nanoTime();
            ranks.kill(second);
            for (int rank = 1; rank < 4; rank++) {
                if (rank != second) {
                    ranks.awaitOutput(rank, text -> text.contains("RANKS 2"), LIMIT);
                }
            }
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(SOON);
            requireResults(ranks, 4, Set.of(0, second));
        }
    }

    /** Ranks 1 and 2 would each lead a group, and wait for others. */
    @Test
    void ranksWithDifferentLeadersLearnThatTheyExcludeDifferentRanks() {
        try (LocalRanks ranks = LocalRanks.start(4)) {
            ranks.run(comm -> {
                if (comm.rank() > 0) {
                    List<Integer> excluded = comm.rank() == 2 ? List.of(0, 1) : List.of(0);
                    long begin = System.nanoTime();
                    assertThatThrownBy(() -> comm.shrink(excluded))
                            .isInstanceOf(BootstrapException.class)
                            .hasMessageContaining("exclude different ones:")
                            .hasMessageContaining("excludes {0}")
                            .hasMessageContaining("rank 2 excludes {0,1}");
                    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(5));
                }
            });
        }
    }

    @Test
    void shrunkCommunicatorCanBeShrunkAgainDownToOneRank() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "shrink", "1", "30000")) {
            killWhenReady(ranks, 3, Set.of(), Set.of(0));
            killWhenReady(ranks, 2, Set.of(0), Set.of(2));
            requireResults(ranks, 3, Set.of(0, 2));
        }
    }

    @Test
    void healthyCommunicatorStaysUsableAfterAShrink() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                if (comm.rank() != 1) {
                    try (Communicator rest = comm.shrink(List.of(1))) {
                        assertThat(rest.size()).isEqualTo(2);
                        assertThat(rest.rank()).isEqualTo(comm.rank() / 2);
                        assertThat(sum(rest, 10 + comm.rank())).isEqualTo(22);
                    }
                }
                assertThat(sum(comm, comm.rank())).isEqualTo(3);
            });
        }
    }

    /** The late rank must not answer requests of the second shrink with its state of the first one. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aRankThatIsLateForTheNextShrinkIsWaitedFor(int late) {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                comm.shrink(List.of()).close();
                if (comm.rank() == late) {
                    new CountDownLatch(1).await(1500, TimeUnit.MILLISECONDS);
                }
                if (comm.rank() != 2) {
                    try (Communicator rest = comm.shrink(List.of(2))) {
                        assertThat(sum(rest, 1)).isEqualTo(2);
                    }
                }
            });
        }
    }

    /**
     * The others have continued without rank 0 and closed the old communicator. The closed communicator must not make
     * rank 0 conclude that they have ended.
     */
    @Test
    void lateRankDoesNotGoOnAlone() throws Exception {
        CountDownLatch others = new CountDownLatch(2);
        CountDownLatch late = new CountDownLatch(1);
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                if (comm.rank() == 0) {
                    assertThat(others.await(60, TimeUnit.SECONDS)).isTrue();
                    assertThatThrownBy(() -> comm.shrink(List.of())).isInstanceOf(BootstrapException.class);
                    assertThatThrownBy(() -> comm.shrink(List.of(1, 2)))
                            .isInstanceOf(BootstrapException.class)
                            .hasMessageContaining("only 1 of 3 ranks are left, {0}");
                    late.countDown();
                } else {
                    try (Communicator rest = comm.shrink(List.of(0))) {
                        comm.close();
                        others.countDown();
                        assertThat(late.await(60, TimeUnit.SECONDS)).isTrue();
                        assertThat(sum(rest, 1)).isEqualTo(2);
                    }
                }
            });
        }
    }

    /** The keys of connections contain the generation, so connections of different communicators do not match. */
    @Test
    void everyShrinkMakesASeparateCommunicator() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            List<String> ids = ranks.call(comm -> {
                try (Communicator once = comm.shrink(List.of());
                        Communicator again = comm.shrink(List.of())) {
                    assertThat(sum(once, 1)).isEqualTo(2);
                    assertThat(sum(again, 2)).isEqualTo(4);
                    return comm.id() + " " + once.id() + " " + again.id();
                }
            });
            assertThat(ids.get(0)).isEqualTo(ids.get(1));
            assertThat(Set.of(ids.get(0).split(" "))).hasSize(3);
        }
    }

    @Test
    void allRanksGoOnAfterAnAbort() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.get(1).abort();
            ranks.run(comm -> {
                assertThatThrownBy(() -> sum(comm, 1)).isInstanceOf(AbortedException.class);
                try (Communicator again = comm.shrink(List.of())) {
                    assertThat(sum(again, 1)).isEqualTo(3);
                }
            });
        }
    }

    @Test
    void ranksThatExcludeDifferentRanksGetAnError() {
        try (LocalRanks ranks = LocalRanks.start(4)) {
            // Ranks 0, 1 and 3 meet as a group of three, but rank 0 expects rank 2 in place of rank 1.
            ranks.run(comm -> {
                if (comm.rank() != 2) {
                    List<Integer> excluded = List.of(comm.rank() == 0 ? 1 : 2);
                    assertThatThrownBy(() -> comm.shrink(excluded))
                            .isInstanceOf(BootstrapException.class)
                            .hasMessageContaining("could not go on as one of")
                            .hasMessageContaining("exclude different ones:")
                            .hasMessageContaining("excludes {1}")
                            .hasMessageContaining("excludes {2}");
                }
            });
        }
    }

    /** Ranks 1 and 2 initialise a group of two, while rank 0 searches for all three. The old communicators are open. */
    @Test
    void rankThatTheOthersExcludeGetsAnError() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                if (comm.rank() == 0) {
                    assertThatThrownBy(() -> comm.shrink(List.of()))
                            .isInstanceOf(BootstrapException.class)
                            .hasMessageContaining("exclude different ones:")
                            .hasMessageContaining("excludes {0}");
                } else {
                    comm.shrink(List.of(0)).close();
                }
            });
        }
    }

    /** The others find the rank silent, shrink without it and close. Then it resumes, and must not continue alone. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void stoppedRankLearnsThatTheOthersWentOnAndDoesNotGoOnAlone(int victim) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "shrink-stopped", "2")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY 3"), LIMIT);
            }
            ranks.stop(victim);
            for (int rank = 0; rank < 3; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(rank, text -> text.contains("SHRUNK 2"), LIMIT);
                    assertThat(ranks.awaitExit(rank, LIMIT))
                            .as(ranks.output(rank))
                            .isZero();
                }
            }
            ranks.resume(victim);
            ranks.awaitOutput(victim, text -> text.contains("ASKED 1"), LIMIT);
            assertThat(ranks.output(victim))
                    .contains("FAILED PeerFailedException[" + victim + "]")
                    .contains("the other ranks go on without this one, rank=" + victim)
                    .contains("REFUSED [" + victim + "] BootstrapException")
                    .contains("REFUSED others BootstrapException");
        }
    }

    /** Ranks 1 and 2 are stopped, not dead: rank 0 alone is a minority. */
    @Test
    void minorityIsRefusedWhileOtherRanksMayLiveUnlessRequested() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "shrink-stopped", "2")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY 3"), LIMIT);
            }
            ranks.stop(1);
            ranks.stop(2);
            ranks.awaitOutput(0, text -> text.contains("ASKED 1"), LIMIT);
            assertThat(ranks.output(0))
                    .contains("REFUSED [1, 2] BootstrapException")
                    .contains("only 1 of 3 ranks are left");
        }
    }

    @Test
    void badRanksAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            assertThatThrownBy(() -> comm.shrink(List.of(0)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("excludedRanks={0} rank=0");
            assertThatThrownBy(() -> comm.shrink(List.of(-1, 2)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("excludedRanks={-1,2} size=2: expected ranks from 0 to 1");
            ranks.run(Communicator::close);
            assertThatThrownBy(() -> comm.shrink(List.of(1)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
        }
    }

    private static long sum(Communicator comm, long mine) {
        long[] value = {mine};
        comm.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
        return value[0];
    }

    private static void killWhenReady(ProcessRanks ranks, int size, Set<Integer> dead, Set<Integer> victims)
            throws InterruptedException {
        for (int rank = 0; rank < size + dead.size(); rank++) {
            if (!dead.contains(rank)) {
                ranks.awaitOutput(rank, text -> text.contains("READY " + size), LIMIT);
            }
        }
        victims.forEach(ranks::kill);
    }

    private static void requireResults(ProcessRanks ranks, int size, Set<Integer> victims) throws InterruptedException {
        Set<String> ids = new TreeSet<>();
        int expected = 0;
        for (int rank = 0; rank < size; rank++) {
            if (!victims.contains(rank)) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
                List<String> generations = RANKS.matcher(ranks.output(rank))
                        .results()
                        .map(one -> one.group(1) + " " + one.group(2) + " " + one.group(3))
                        .toList();
                String last = generations.get(generations.size() - 1);
                assertThat(last).as(ranks.allOutput()).startsWith(size - victims.size() + " " + expected + " ");
                assertThat(generations).as("generations").doesNotHaveDuplicates();
                ids.add(last.split(" ")[2]);
                expected++;
            }
        }
        assertThat(ids).as("the survivors are in one communicator").hasSize(1);
    }
}
