package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.MismatchedCollectiveException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the survivors say when a rank dies, stays away, or does something else. Ranks that die or stay away are processes. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailuresTest {

    private static final Duration LIMIT = Duration.ofSeconds(60L * LocalRanks.SLOWNESS);
    private static final Duration WITHIN_SECONDS = Duration.ofSeconds(5L * LocalRanks.SLOWNESS);
    private static final Pattern AFTER = Pattern.compile("FAILED after (\\d+) ms");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aKilledRankIsNamedByEverySurvivorWithinSeconds(int victim) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(30000), "-1", "none")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            long killed = System.nanoTime();
            ranks.kill(victim);
            for (int rank = 0; rank < 3; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(rank, text -> text.contains("FAILED"), WITHIN_SECONDS);
                    assertThat(ranks.output(rank)).contains("PeerFailedException[" + victim + "]");
                }
            }
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(WITHIN_SECONDS);
            requireCleanEnds(ranks, victim);
        }
    }

    @Test
    void aStoppedRankIsNamedByEverySurvivor() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(3000), "-1", "none")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.stop(2);
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).containsPattern("(PeerFailed|JcclTimeout)Exception\\[2\\]");
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
            }
        }
    }

    @Test
    void aRankThatNeverCallsIsNamedAfterTheTimeout() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(2000), "1", "absent")) {
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank))
                        .contains("JcclTimeoutException[1]")
                        .contains("MESSAGE all_reduce(type=int64 op=sum count=4096)")
                        .contains("sequence=201")
                        .contains("missingRanks=[1]")
                        .contains("rank=1 never entered sequence=201, its last is 200")
                        .contains("AGAIN JcclTimeoutException[1] cause=true");
            }
        }
    }

    @Test
    void anotherCountIsShownWithARowPerRank() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(30000), "1", "count")) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("MismatchedCollectiveException[0:4096, 1:100, 2:4096]");
                Matcher after = AFTER.matcher(ranks.output(rank));
                assertThat(after.find()).isTrue();
                assertThat(Long.parseLong(after.group(1)))
                        .as("found without waiting for the time-out")
                        .isLessThan(WITHIN_SECONDS.toMillis());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"4, 8, float32", "262144, 8, float32", "4, 4, int32"})
    void aGroupWhoseEndsDifferIsAMismatchOnBothRanks(int sent, int received, String receivedType) {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            DataType type = DataType.valueOf(receivedType.toUpperCase(Locale.ROOT));
            ranks.run(comm -> {
                int peer = 1 - comm.rank();
                DataBuffer out = DataBuffer.of(new float[comm.rank() == 0 ? sent : 1]);
                DataBuffer in = comm.rank() == 0
                        ? DataBuffer.of(new float[1])
                        : DataBuffer.of(ByteBuffer.allocateDirect(4 * received).order(ByteOrder.nativeOrder()), type);
                long begin = System.nanoTime();
                assertThatThrownBy(() -> {
                            comm.group(group -> group.send(peer, out).recv(peer, in))
                                    .await();
                            comm.barrier().await(); // rank 0 has what it wants, and hears of it next
                        })
                        .isInstanceOf(MismatchedCollectiveException.class)
                        .hasMessageContaining("rank 1 reports: send_recv(transfers=2 send(peer=0 type=float32 count=1) "
                                + "recv(peer=0 type=" + receivedType + " count=" + received + "))")
                        .hasMessageContaining(
                                "on rank=1: a peer runs another operation, or the same with other arguments: "
                                        + "rank=1 after sequence=0; channel=0 peer=0")
                        .hasMessageContaining("waitsFor=data");
                assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin))
                        .as("found without waiting for the time-out")
                        .isLessThan(LocalRanks.TIMEOUT.toMillis() * 2 / 3);
            });
        }
    }

    @Test
    void anAbortReachesEveryRank() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(30000), "2", "abort")) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("AbortedException").contains("rank=2 aborted the communicator");
            }
        }
    }

    @Test
    void aRankThatLeavesWhileOthersNeedItIsNamed() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(5000), "1", "leave")) {
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).containsPattern("(PeerFailed|JcclTimeout)Exception\\[1\\]");
            }
        }
    }

    /** A time-out of operations. */
    private static String millis(int elsewhere) {
        return Integer.toString(elsewhere * LocalRanks.SLOWNESS);
    }

    private static void requireCleanEnds(ProcessRanks ranks, int victim) throws InterruptedException {
        for (int rank = 0; rank < 3; rank++) {
            if (rank != victim) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank))
                        .contains("AGAIN PeerFailedException[" + victim + "] cause=true")
                        .contains("CLOSED");
            }
        }
    }
}
