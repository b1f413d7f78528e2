package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the survivors report when a rank dies, is absent, or calls another operation. Ranks that die are processes. */
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

    /** Starts ranks that check rules in this mode of {@link RankMain}, and kills one of them. */
    private void requireRulesUntilARankIsKilled(String mode, String transport) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, mode, transport)) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.kill(1);
            for (int rank = 0; rank < 3; rank += 2) {
                ranks.awaitOutput(rank, text -> text.contains("FAILED PeerFailedException[1]"), WITHIN_SECONDS);
            }
            requireCleanEnds(ranks, 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM", "SOCKET"})
    void oneSidedOperationsKeepTheirRulesAndNameARankThatIsKilled(String transport) throws Exception {
        requireRulesUntilARankIsKilled("windows", transport);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM", "SOCKET"})
    void messagesKeepTheirRulesAndNameARankThatIsKilled(String transport) throws Exception {
        requireRulesUntilARankIsKilled("messages", transport);
    }

    @ParameterizedTest
    @CsvSource({"SHM,1", "SHM,2", "SOCKET,1", "SOCKET,2"})
    void theOriginOrTheTargetOfAPutIsNamedIfItIsKilledAndTheTargetCallsNothing(String transport, int victim)
            throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "windows-passive", transport)) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.kill(victim);
            for (int rank = 0; rank < 3; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(
                            rank, text -> text.contains("FAILED PeerFailedException[" + victim + "]"), WITHIN_SECONDS);
                }
            }
            requireCleanEnds(ranks, victim);
        }
    }

    /** Rank 0 never joins, so the others wait at the rendezvous server, which is in this process. */
    @Test
    void aRankThatIsKilledWhileOthersInitialiseIsNamedWithinSeconds() throws Exception {
        List<String> never = List.of("sh", "-c", "exec sleep 1000");
        try (InitLog server = new InitLog("io.jccl.rendezvous.RendezvousServer");
                ProcessRanks ranks = ProcessRanks.start(
                        UniqueId.create(), folder, 3, rank -> rank == 0 ? never : List.of(), "join")) {
            for (int rank = 1; rank < 3; rank++) {
                server.await("rank=" + rank + " has come: size=3", LIMIT);
            }
            long killed = System.nanoTime();
            ranks.kill(1);
            ranks.awaitOutput(2, text -> text.contains("FAILED PeerFailedException[1]"), LIMIT);
            assertThat(Duration.ofNanos(System.nanoTime() - killed))
                    .isLessThan(Duration.ofSeconds(2L * LocalRanks.SLOWNESS));
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
                assertThat(ranks.output(rank)).containsPattern("(PeerFailed|CommunicationTimeout)Exception\\[2\\]");
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
            }
        }
    }

    @Test
    void aCoordinatorThatIsSlowToAnswerIsNotBlamed() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(2000), "1", "absent")) {
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            Thread.sleep(1000L * LocalRanks.SLOWNESS);
            ranks.stop(0); // until the others have timed out and waited a while longer
            Thread.sleep(5000);
            ranks.resume(0);
            ranks.awaitOutput(2, text -> text.contains("CLOSED"), LIMIT);
            assertThat(ranks.output(2)).contains("CommunicationTimeoutException[1]");
        }
    }

    @Test
    void aRankThatNeverCallsIsNamedAfterTheTimeout() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(2000), "1", "absent")) {
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank))
                        .contains("CommunicationTimeoutException[1]")
                        .contains("MESSAGE rank 1 did not join all_reduce(type=int64 op=sum count=4096) within "
                                + 2 * LocalRanks.SLOWNESS + " s (2 of 3 arrived)")
                        .contains("sequence=201")
                        .contains("missingRanks=[1]")
                        .contains("rank=1 never entered sequence=201, its last is 200")
                        .contains("AGAIN CommunicationTimeoutException[1] cause=true");
            }
        }
    }

    @Test
    void mismatchOfCountsHasARowPerRank() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(30000), "1", "count")) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank))
                        .contains("MismatchedCollectiveException[0:4096, 1:100, 2:4096]")
                        .contains("MESSAGE rank 1 called count=100, ranks 0 and 2 count=4096 in all_reduce");
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
    void groupsWhoseSendAndReceiveDifferAreAMismatchOnBothRanks(int sent, int received, String receivedType) {
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
                            comm.barrier().await(); // rank 0 has received its data, and fails only here
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
                assertThat(ranks.output(rank))
                        .contains("AbortedException")
                        .contains("rank=2 aborted the communicator: the loss is NaN RESULT ok");
            }
        }
    }

    @Test
    void aRankThatLeavesWhileOthersNeedItIsNamed() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 3, "work", millis(5000), "1", "leave")) {
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).containsPattern("(PeerFailed|CommunicationTimeout)Exception\\[1\\]");
            }
        }
    }

    /** No data moves for longer than the heartbeat time-out. A host that is silent for that long counts as lost. */
    @Test
    void aRankThatReceivesLateKeepsItsConnection() throws Exception {
        int bytes = 64 << 20; // more than socket buffers hold
        CommunicatorConfig config = LocalRanks.config()
                .setting("JCCL_TRANSPORT", "socket")
                .setting("JCCL_HEARTBEAT_TIMEOUT", "2s")
                .build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            Future<Void> sent = ranks.submit(0, comm -> {
                comm.send(1, DataBuffer.of(new byte[bytes])).await();
                return null;
            });
            Future<Byte> received = ranks.submit(1, comm -> {
                Thread.sleep(5000);
                byte[] all = new byte[bytes];
                Arrays.fill(all, (byte) 1);
                comm.recv(0, DataBuffer.of(all)).await();
                return all[bytes - 1];
            });
            sent.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            assertThat(received.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isZero();
        }
    }

    /**
     * Transfers have no sequence numbers, so ranks cannot detect one without a partner. Such a transfer ends when its
     * peer closes.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void closeEndsATransferWhosePeerHasClosed(int leaves) throws Exception {
        try (LocalRanks ranks = LocalRanks.start(3)) { // rank 2 does not close
            int stays = 1 - leaves;
            Work transfer = ranks.get(stays).recv(leaves, DataBuffer.of(new long[4]));
            Future<Void> left = ranks.submit(leaves, comm -> {
                comm.close();
                return null;
            });
            long begin = System.nanoTime();
            ranks.submit(stays, comm -> {
                        comm.close();
                        return null;
                    })
                    .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(WITHIN_SECONDS);
            assertThatThrownBy(transfer::await).isInstanceOf(PeerFailedException.class);
            left.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        }
    }

    /** Returns a time-out of operations in milliseconds: {@code elsewhere} on usual machines, more on slow ones. */
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
