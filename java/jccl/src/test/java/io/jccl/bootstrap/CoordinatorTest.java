package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.JcclTimeoutException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The judgement alone: no sockets, and time is a number. */
@Timeout(20)
class CoordinatorTest {

    private static final long MS = 1_000_000;
    private static final long QUERY = 1000 * MS;
    private static final long HEARTBEAT = 5000 * MS;

    private record Query(int rank, long inquiry, long sequence) {}

    private final List<Query> queries = new ArrayList<>();
    private final List<Verdict> verdicts = new ArrayList<>();
    private final Coordinator coordinator = new Coordinator(3, QUERY, HEARTBEAT, 0, new Coordinator.Output() {
        @Override
        public void query(int rank, long inquiry, long sequence) {
            queries.add(new Query(rank, inquiry, sequence));
        }

        @Override
        public void verdict(Verdict verdict) {
            verdicts.add(verdict);
        }
    });

    static RankStatus entered(int rank, long sequence, long fingerprint, long count) {
        return new RankStatus(
                rank,
                RankStatus.State.ANSWERED,
                new LastEntered(sequence, 0),
                Optional.of(new OperationRecord(
                        fingerprint,
                        new RankOperation(
                                rank,
                                sequence,
                                true,
                                Collective.ALL_REDUCE,
                                DataType.FLOAT32,
                                ReduceOp.SUM,
                                count,
                                0,
                                "running"))),
                List.of());
    }

    private static RankStatus at(int rank, long lastEntered) {
        return new RankStatus(
                rank, RankStatus.State.ANSWERED, new LastEntered(lastEntered, 0), Optional.empty(), List.of());
    }

    private static RankStatus waiting(int rank, long lastEntered, int peer) {
        ChannelWait wait = new ChannelWait(rank, 0, peer, TransportKind.SHM, true, Protocol.SIMPLE, 12);
        return new RankStatus(
                rank, RankStatus.State.ANSWERED, new LastEntered(lastEntered, 0), Optional.empty(), List.of(wait));
    }

    private void answer(RankStatus status, long now) {
        Query query = queries.stream()
                .filter(one -> one.rank() == status.rank())
                .reduce((a, b) -> b)
                .orElseThrow();
        coordinator.status(status.rank(), query.inquiry(), status, now);
    }

    @Test
    void aTimeoutNamesTheRanksThatNeverEntered() {
        coordinator.report(0, ReportKind.TIMEOUT, 7, "all_reduce took too long", MS);
        assertThat(queries).extracting(Query::rank).containsExactly(0, 1, 2);
        answer(entered(0, 7, 5, 10), MS);
        answer(entered(1, 7, 5, 10), MS);
        assertThat(verdicts).isEmpty();
        answer(at(2, 6), MS);
        assertThat(verdicts).singleElement().satisfies(verdict -> {
            assertThat(verdict.kind()).isEqualTo(Verdict.Kind.TIMEOUT);
            assertThat(verdict.toException())
                    .isInstanceOfSatisfying(JcclTimeoutException.class, e -> assertThat(e.missingRanks())
                            .containsExactly(2))
                    .hasMessageContaining("rank=2 never entered sequence=7, its last is 6");
        });
    }

    @Test
    void aRankThatDoesNotAnswerIsNamedWhenTheTimeIsUp() {
        coordinator.report(0, ReportKind.TIMEOUT, 7, "late", 0);
        answer(entered(0, 7, 5, 10), MS);
        answer(entered(2, 7, 5, 10), MS);
        assertThat(coordinator.tick(QUERY - MS)).isEqualTo(MS);
        assertThat(verdicts).isEmpty();
        coordinator.tick(QUERY);
        assertThat(verdicts.get(0).missingRanks()).containsExactly(1);
        assertThat(verdicts.get(0).describe()).contains("rank=1 did not answer");
    }

    @Test
    void aRankThatIsLateOnlyBecauseItWaitsForAnotherIsNotMissing() {
        coordinator.report(1, ReportKind.TIMEOUT, 8, "late", 0); // rank 1 is one operation ahead
        answer(waiting(0, 7, 2), MS);
        answer(entered(1, 8, 5, 10), MS);
        coordinator.tick(QUERY);
        assertThat(verdicts.get(0).missingRanks()).containsExactly(2);
        assertThat(verdicts.get(0).describe())
                .contains("rank=0 never entered sequence=8, its last is 7", "waits for data from peer=2");
    }

    @Test
    void lateRanksThatAllWaitAreAllMissing() {
        coordinator.report(1, ReportKind.TIMEOUT, 8, "late", 0);
        answer(waiting(0, 7, 2), MS);
        answer(entered(1, 8, 5, 10), MS);
        answer(waiting(2, 7, 0), MS);
        assertThat(verdicts.get(0).missingRanks()).containsExactly(0, 2);
    }

    @Test
    void aStallWithDifferentFingerprintsIsAMismatchWithARowPerRank() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(entered(2, 3, 6, 11), MS);
        assertThat(verdicts.get(0).toException())
                .isInstanceOfSatisfying(MismatchedCollectiveException.class, e -> assertThat(e.rows())
                        .extracting(RankOperation::count)
                        .containsExactly(10L, 10L, 11L));
    }

    @Test
    void aStallThatIsHealthyGivesNoVerdictAndTheNextIsLookedIntoAgain() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(at(2, 2), MS);
        assertThat(verdicts).isEmpty();
        coordinator.report(2, ReportKind.STALLED, 3, "", 2 * MS);
        assertThat(queries).hasSize(6);
    }

    @Test
    void operationsThatAreNotComparedNeverMismatch() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 0, 10), MS);
        answer(entered(1, 3, 5, 11), MS);
        answer(entered(2, 3, 0, 12), MS);
        assertThat(verdicts).isEmpty();
    }

    @Test
    void aRankThatEntersWhileOthersAreAskedIsAskedAgain() {
        coordinator.report(0, ReportKind.STALLED, 3, "", 0);
        answer(at(2, 2), MS);
        coordinator.report(2, ReportKind.STALLED, 3, "", 2 * MS);
        answer(entered(0, 3, 5, 10), 3 * MS);
        answer(entered(1, 3, 5, 10), 3 * MS);
        assertThat(queries).as("a second round").hasSize(6);
        answer(entered(2, 3, 6, 10), 4 * MS);
        answer(entered(0, 3, 5, 10), 4 * MS);
        answer(entered(1, 3, 5, 10), 4 * MS);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.MISMATCH);
    }

    @Test
    void aTimeoutTakesOverARunningInquiry() {
        coordinator.report(0, ReportKind.STALLED, 3, "", 0);
        coordinator.report(1, ReportKind.TIMEOUT, 3, "too long", MS);
        assertThat(queries).hasSize(3);
        coordinator.tick(QUERY);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.TIMEOUT);
        assertThat(verdicts.get(0).reporter()).isEqualTo(1);
    }

    @Test
    void deathsAtOneTimeAreOneVerdictAndExplainTransportFailures() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection reset", 0);
        answer(entered(0, 3, 5, 10), MS);
        coordinator.lost(2, "closed", MS);
        coordinator.tick(2 * MS);
        coordinator.lost(1, "closed", 3 * MS);
        assertThat(verdicts).isEmpty();
        coordinator.tick(MS + Coordinator.GATHER_DEATHS_NANOS);
        assertThat(verdicts.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(1, 2));
    }

    @Test
    void transportAndMismatchReportsStandWhenAllLive() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection reset by peer=1", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(entered(2, 3, 5, 10), MS);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.TRANSPORT);
        assertThat(verdicts.get(0).text()).contains("peer=1");
    }

    @Test
    void aRankThatIsSilentWhereATransportBrokeHasFailed() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection timed out", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(2, 3, 5, 10), MS);
        coordinator.tick(QUERY);
        assertThat(verdicts.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(1))
                .hasMessageContaining("connection timed out")
                .hasMessageContaining("rank=1 did not answer");
    }

    @Test
    void abortNeedsNoQuestions() {
        coordinator.report(2, ReportKind.ABORT, 4, "stop", 0);
        assertThat(queries).isEmpty();
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.ABORTED);
    }

    @Test
    void theFirstVerdictIsTheOnlyOne() {
        coordinator.report(2, ReportKind.ABORT, 4, "stop", 0);
        coordinator.report(1, ReportKind.ABORT, 4, "stop too", 0);
        coordinator.lost(0, "closed", 0);
        coordinator.tick(QUERY);
        assertThat(verdicts).hasSize(1);
    }

    @Test
    void silenceIsDeathOnlyAfterTheTimeout() {
        for (long now = 0; now < HEARTBEAT; now += 500 * MS) {
            coordinator.heard(0, now);
            coordinator.heard(1, now);
            coordinator.tick(now);
        }
        assertThat(verdicts).isEmpty();
        coordinator.tick(HEARTBEAT);
        coordinator.tick(HEARTBEAT + Coordinator.GATHER_DEATHS_NANOS);
        assertThat(verdicts.get(0).failedRanks()).containsExactly(2);
        assertThat(verdicts.get(0).text()).contains("silent for 5000 ms");
    }

    @Test
    void aPauseOfTheCoordinatorItselfKillsNobody() {
        coordinator.tick(MS);
        coordinator.tick(100 * HEARTBEAT);
        coordinator.tick(100 * HEARTBEAT + Coordinator.GATHER_DEATHS_NANOS);
        assertThat(verdicts).isEmpty();
    }

    @Test
    void aGoodbyeIsNoFailureButBeingNeededAfterwardsIs() {
        coordinator.goodbye(2, new LastEntered(3, 1), 0);
        coordinator.lost(2, "closed", MS);
        coordinator.tick(100 * MS);
        coordinator.report(0, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 1), 0);
        answer(entered(1, 3, 5, 1), 0);
        assertThat(verdicts).as("it had entered that one").isEmpty();
        coordinator.report(0, ReportKind.STALLED, 4, "", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.DEPARTED);
        assertThat(verdicts.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(2))
                .hasMessageContaining("closed their communicator before sequence=4");
    }

    @Test
    void operationsOnDevicesAreAnotherSequence() {
        long third = LastEntered.onDevice(3);
        coordinator.report(0, ReportKind.TIMEOUT, third, "late", 0);
        for (int rank = 0; rank < 3; rank++) {
            LastEntered last = new LastEntered(rank == 1 ? 3 : 8, rank == 1 ? 2 : 3);
            Optional<OperationRecord> record =
                    rank == 1 ? Optional.empty() : entered(rank, 3, 5, 1).operation();
            answer(new RankStatus(rank, RankStatus.State.ANSWERED, last, record, List.of()), 0);
        }
        assertThat(verdicts.get(0).missingRanks()).containsExactly(1);
        assertThat(verdicts.get(0).describe())
                .contains("; sequence=3 (device)")
                .contains("rank=1 never entered sequence=3 (device), its last is 2");
    }

    @Test
    void whoLeftAfterItsLastOperationOnTheDeviceIsNeededByTheNext() {
        coordinator.goodbye(2, new LastEntered(9, 3), 0);
        coordinator.report(0, ReportKind.STALLED, LastEntered.onDevice(3), "", 0);
        answer(entered(0, 3, 5, 1), 0);
        answer(entered(1, 3, 5, 1), 0);
        assertThat(verdicts).as("it had entered that one").isEmpty();
        coordinator.report(0, ReportKind.STALLED, LastEntered.onDevice(4), "", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.DEPARTED);
        assertThat(verdicts.get(0).text()).contains("before sequence=4 (device)");
    }

    @Test
    void aGoodbyeDuringAnInquiryCountsAsAnAnswer() {
        coordinator.report(0, ReportKind.TIMEOUT, 4, "late", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        coordinator.goodbye(2, new LastEntered(3, 1), 0);
        assertThat(verdicts.get(0).kind()).isEqualTo(Verdict.Kind.DEPARTED);
        assertThat(verdicts.get(0).failedRanks()).isEqualTo(new TreeSet<>(List.of(2)));
    }

    @Test
    void manyOpenInquiriesStayBounded() {
        for (int sequence = 1; sequence < 1000; sequence++) {
            coordinator.report(0, ReportKind.STALLED, sequence, "", 0);
        }
        coordinator.tick(QUERY);
        assertThat(verdicts).isEmpty();
    }
}
