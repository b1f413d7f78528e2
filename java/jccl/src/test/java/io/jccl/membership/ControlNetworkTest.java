package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.ChannelWait;
import io.jccl.PeerFailedException;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.control.CoordinatorTest;
import io.jccl.control.FailureReport;
import io.jccl.control.OperationRecord;
import io.jccl.control.OutOfBand;
import io.jccl.control.ReportKind;
import io.jccl.control.StatusSource;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.wire.LastEntered;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class ControlNetworkTest {

    private final List<Bootstrap> group = new ArrayList<>();
    private final List<BlockingQueue<FailureReport>> failures = new ArrayList<>();
    private final List<AtomicLong> entered = new ArrayList<>();

    @AfterEach
    void closeAll() throws InterruptedException {
        Ranks.close(group);
    }

    private void initialize(int size, BootstrapOptions options) throws InterruptedException {
        group.addAll(Ranks.join(size, options));
        for (Bootstrap rank : group) {
            BlockingQueue<FailureReport> queue = new LinkedBlockingQueue<>();
            AtomicLong last = new AtomicLong();
            failures.add(queue);
            entered.add(last);
            rank.control().start(new Source(rank.rank(), last), queue::add);
        }
    }

    /**
     * The status source of a rank whose fingerprint differs from the fingerprints of the other ranks only at sequence
     * 9.
     */
    record Source(int rank, AtomicLong last) implements StatusSource {
        @Override
        public LastEntered lastEntered() {
            return new LastEntered(last.get(), 0);
        }

        @Override
        public Optional<OperationRecord> recordAt(long sequence) {
            return sequence > last.get()
                    ? Optional.empty()
                    : CoordinatorTest.entered(rank, sequence, sequence == 9 ? 100 + rank : 77, 5)
                            .operation();
        }

        @Override
        public List<ChannelWait> waitingRows() {
            return List.of(new ChannelWait(rank, 0, 0, TransportKind.SHM, WaitFor.DATA, Protocol.LL, 4));
        }
    }

    private static BootstrapOptions options() {
        return Ranks.options().withWaits(Duration.ofSeconds(3), Duration.ofMillis(300));
    }

    private FailureReport failureOf(int rank) throws InterruptedException {
        FailureReport report = failures.get(rank).poll(20, TimeUnit.SECONDS);
        assertThat(report).as("failure of rank %d", rank).isNotNull();
        return report;
    }

    @ParameterizedTest
    @CsvSource({"2,1", "2,0", "5,3", "5,0", "16,7", "16,0"})
    void everyRemainingRankLearnsOfADeathSoon(int size, int victim) throws Exception {
        initialize(size, options());
        long start = System.nanoTime();
        group.get(victim).die();
        for (int rank = 0; rank < size; rank++) {
            if (rank != victim) {
                FailureReport report = failureOf(rank);
                assertThat(report.kind()).isEqualTo(FailureReport.Kind.PEER_FAILED);
                assertThat(report.failedRanks()).containsExactly(victim);
                assertThat(failures.get(rank)).as("reported once").isEmpty();
            }
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
        OutOfBand net = group.get(victim == 0 ? 1 : 0).outOfBand();
        assertThatThrownBy(() -> net.barrier(Ranks.SOON)).isInstanceOf(PeerFailedException.class);
    }

    @Test
    void aTimeoutIsOneFailureWithARowPerRank() throws Exception {
        initialize(4, options());
        for (int rank : new int[] {0, 1, 3}) {
            entered.get(rank).set(8);
        }
        group.get(1).control().timedOut(8, Duration.ofSeconds(1), "all_reduce took 1 s");
        for (int rank = 0; rank < 4; rank++) {
            FailureReport report = failureOf(rank);
            assertThat(report.kind()).isEqualTo(FailureReport.Kind.TIMEOUT);
            assertThat(report.missingRanks()).containsExactly(2);
            assertThat(report.rows()).hasSize(4);
            assertThat(report.describe())
                    .contains(
                            "rank 2 did not join all_reduce(type=float32 op=sum count=5) within 1 s (3 of 4 arrived)",
                            "rank=2 never entered",
                            "waits for data from peer=0");
            assertThat(group.get(rank).control().agreedFailure()).contains(report);
        }
    }

    @Test
    void aReportedStallRevealsAMismatchAndFailsNoHealthyRank() throws Exception {
        initialize(3, options());
        entered.forEach(last -> last.set(8));
        group.get(2).control().report(ReportKind.STALLED, 8, "slow");
        group.get(2).outOfBand().send(2, 1, new byte[0]);
        group.get(2).outOfBand().receive(2, 1, Ranks.SOON);
        assertThat(failures.get(2).poll(400, TimeUnit.MILLISECONDS)).isNull();
        entered.forEach(last -> last.set(9));
        group.get(2).control().report(ReportKind.STALLED, 9, "slow");
        for (int rank = 0; rank < 3; rank++) {
            assertThat(failureOf(rank).kind()).isEqualTo(FailureReport.Kind.MISMATCH);
        }
    }

    @Test
    void idleRanksLearnOfAMismatchByTheHeartbeat() throws Exception {
        initialize(3, options().withHeartbeat(Duration.ofMillis(100), Duration.ofSeconds(20)));
        entered.forEach(last -> last.set(9));
        for (int rank = 0; rank < 3; rank++) {
            assertThat(failureOf(rank).kind()).isEqualTo(FailureReport.Kind.MISMATCH);
            assertThat(group.get(rank).control().agreedFailure()).isPresent();
        }
    }

    @Test
    void ranksThatLeaveLearnOfAMismatch() throws Exception {
        initialize(3, options());
        entered.forEach(last -> last.set(9));
        Ranks.close(group);
        for (int rank = 0; rank < 3; rank++) {
            assertThat(failureOf(rank).kind()).isEqualTo(FailureReport.Kind.MISMATCH);
        }
    }

    @Test
    void allRanksKeepTheSameFirstFailure() throws Exception {
        initialize(6, options());
        Ranks.onAll(group, rank -> {
            rank.control().report(ReportKind.ABORT, rank.rank(), "abort of " + rank.rank());
            return null;
        });
        FailureReport first = failureOf(0);
        for (int rank = 1; rank < 6; rank++) {
            assertThat(failureOf(rank)).isEqualTo(first);
            assertThat(failures.get(rank)).isEmpty();
        }
    }

    @Test
    void aFailureBeforeTheStartIsReportedAtTheStart() throws Exception {
        group.addAll(Ranks.join(2, options()));
        group.get(1).control().report(ReportKind.ABORT, 0, "early");
        long end = System.nanoTime() + 20_000_000_000L;
        while (group.get(0).control().agreedFailure().isEmpty() && System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        BlockingQueue<FailureReport> reported = new LinkedBlockingQueue<>();
        group.get(0).control().start(new Source(0, new AtomicLong()), reported::add);
        assertThat(reported).hasSize(1);
        assertThatThrownBy(() -> group.get(0).control().start(new Source(0, new AtomicLong()), reported::add))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aRankThatClosesFailsOthersOnlyOnceTheyWaitForIt() throws Exception {
        initialize(4, options());
        group.get(2).close();
        assertThat(failures.get(1).poll(200, TimeUnit.MILLISECONDS)).isNull();
        entered.get(1).set(5);
        group.get(1).control().report(ReportKind.STALLED, 5, "waiting");
        assertThat(failureOf(1).kind()).isEqualTo(FailureReport.Kind.DEPARTED);
        assertThat(failureOf(3).failedRanks()).containsExactly(2);
    }

    @Test
    void anExchangeThatNeedsARankWhichLeftFails() throws Exception {
        initialize(3, options());
        group.get(2).close();
        assertThatThrownBy(() -> group.get(1).outOfBand().barrier(Ranks.SOON))
                .isInstanceOf(PeerFailedException.class)
                .hasMessageContaining("closed their communicator");
    }

    @Test
    void aCoordinatorOutlivesItsCloseForABoundedTimeAndIsMissedOnlyWhenNeeded() throws Exception {
        initialize(3, options());
        entered.get(0).set(5);
        long start = System.nanoTime();
        group.get(0).close();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
        long left = options().closeTimeout().plusMillis(500).toMillis();
        assertThat(failures.get(1).poll(left, TimeUnit.MILLISECONDS)).isNull();
        group.get(1).control().report(ReportKind.STALLED, 5, "slow");
        assertThat(failures.get(1).poll(100, TimeUnit.MILLISECONDS)).isNull();
        group.get(1).control().report(ReportKind.STALLED, 6, "slow");
        assertThat(failureOf(1).failedRanks()).containsExactly(0);
    }

    @Test
    void aSilentRankIsFoundByTheHeartbeatAndClosesAtOnceWhenItContinues() throws Exception {
        BootstrapOptions quick = options().withHeartbeat(Duration.ofMillis(100), Duration.ofSeconds(3));
        initialize(3, quick);
        CountDownLatch frozen = new CountDownLatch(1);
        group.get(2).onControlThread(() -> await(frozen));
        for (int rank = 0; rank < 2; rank++) {
            FailureReport report = failureOf(rank);
            assertThat(report.failedRanks()).containsExactly(2);
            assertThat(report.text()).contains("silent for");
        }
        frozen.countDown();
        assertThat(failureOf(2).failedRanks()).containsExactly(2);
        long start = System.nanoTime();
        group.get(2).close();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .as("without an answer, close() takes three seconds")
                .isLessThan(Duration.ofSeconds(3));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
