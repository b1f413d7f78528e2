package io.jccl.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.CommunicationTimeoutException;
import io.jccl.DataType;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.wire.LastEntered;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the decisions of the coordinator without sockets; time is a number. */
@Timeout(20)
public class CoordinatorTest {

    private static final long MS = 1_000_000;
    private static final long QUERY = 1000 * MS;
    private static final long HEARTBEAT = 5000 * MS;

    private record Query(int rank, long inquiry, long sequence, boolean withNetwork) {}

    private final List<Query> queries = new ArrayList<>();
    private final List<Integer> asked = new ArrayList<>();
    private final List<Integer> left = new ArrayList<>();
    private final List<FailureReport> failures = new ArrayList<>();
    private final Coordinator coordinator = new Coordinator(3, QUERY, HEARTBEAT, 0, new Coordinator.Output() {
        @Override
        public void query(int rank, long inquiry, long sequence, boolean withNetwork) {
            queries.add(new Query(rank, inquiry, sequence, withNetwork));
        }

        @Override
        public void ask(int rank) {
            asked.add(rank);
        }

        @Override
        public void finAck(int rank) {
            left.add(rank);
        }

        @Override
        public void failure(FailureReport agreed) {
            failures.add(agreed);
        }
    });

    public static RankStatus entered(int rank, long sequence, long fingerprint, long count) {
        return new RankStatus(
                rank,
                RankStatus.State.ANSWERED,
                new LastEntered(sequence, 0),
                Optional.of(new OperationRecord(
                        fingerprint,
                        new RankOperation(
                                rank,
                                sequence,
                                RankOperation.State.RUNNING,
                                Collective.ALL_REDUCE,
                                DataType.FLOAT32,
                                ReduceOp.SUM,
                                count,
                                0))),
                List.of());
    }

    private static RankStatus at(int rank, long lastEntered) {
        return new RankStatus(
                rank, RankStatus.State.ANSWERED, new LastEntered(lastEntered, 0), Optional.empty(), List.of());
    }

    private static RankStatus waiting(int rank, long lastEntered, int peer) {
        ChannelWait wait = new ChannelWait(rank, 0, peer, TransportKind.SHM, WaitFor.DATA, Protocol.SIMPLE, 12);
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
        assertThat(failures).isEmpty();
        answer(at(2, 6), MS);
        assertThat(failures).singleElement().satisfies(report -> {
            assertThat(report.kind()).isEqualTo(FailureReport.Kind.TIMEOUT);
            assertThat(report.toException())
                    .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                            .containsExactly(2))
                    .hasMessageStartingWith(
                            "rank 2 did not join all_reduce(type=float32 op=sum count=10) in time (2 of 3"
                                    + " arrived); ")
                    .hasMessageContaining("rank=2 never entered sequence=7, its last is 6");
        });
    }

    @Test
    void aTimeoutNamesTheTimeLimit() {
        coordinator.report(0, ReportKind.TIMEOUT, 7, 5_000, "all_reduce took too long", MS);
        answer(entered(0, 7, 5, 10), MS);
        answer(entered(1, 7, 5, 10), MS);
        answer(at(2, 6), MS);
        assertThat(failures.get(0).describe())
                .startsWith(
                        "rank 2 did not join all_reduce(type=float32 op=sum count=10) within 5 s (2 of 3 arrived); ");
    }

    /** A rank that waits in a send or receive has missed no collective. */
    @Test
    void aTimeoutOfASendOrReceiveKeepsTheReportersText() {
        coordinator.report(0, ReportKind.TIMEOUT, 0, 5_000, "recv(peer=2) took too long", MS);
        for (int rank = 0; rank < 3; rank++) {
            answer(at(rank, 0), MS);
        }
        assertThat(failures.get(0).describe()).startsWith("recv(peer=2) took too long");
    }

    private static Trail trail(long last, Long... fingerprints) {
        return new Trail(last, List.of(fingerprints));
    }

    @Test
    void aTimeoutNamesTheFirstOperationThatRanksCalledDifferently() {
        coordinator.report(0, ReportKind.TIMEOUT, 8, "late", 0);
        answer(entered(0, 8, 48, 10).with(trail(8, 5L, 46L, 47L, 48L)), MS);
        answer(at(1, 7).with(trail(7, 4L, 5L, 56L, 57L)), MS);
        answer(entered(2, 8, 48, 10).with(trail(8, 5L, 46L, 47L, 48L)), MS);
        assertThat(failures)
                .as("the coordinator first asks which operations those were")
                .isEmpty();
        assertThat(queries).hasSize(6).last().extracting(Query::sequence).isEqualTo(6L);
        answer(entered(0, 6, 46, 10).with(trail(8, 5L, 46L, 47L, 48L)), MS);
        answer(entered(1, 6, 56, 11).with(trail(7, 4L, 5L, 56L, 57L)), MS);
        answer(entered(2, 6, 46, 10).with(trail(8, 5L, 46L, 47L, 48L)), MS);
        assertThat(failures.get(0).toException())
                .isInstanceOf(MismatchedCollectiveException.class)
                .hasMessageStartingWith("rank 1 called count=11, ranks 0 and 2 count=10 in all_reduce at sequence=6; ");
        assertThat(failures.get(0).rows()).extracting(RankStatus::trail).containsOnly(Trail.NONE);
    }

    @Test
    void aMismatchOlderThanTheTrailsIsReportedAtOrBeforeTheirFirstEntry() {
        coordinator.report(0, ReportKind.STALLED, 900, "slow", 0);
        for (int round = 0; round < 2; round++) {
            answer(at(0, 900).with(trail(900, 48L, 49L, 50L)), MS);
            answer(at(1, 900).with(trail(900, 58L, 59L, 60L)), MS);
            answer(at(2, 900).with(trail(900, 48L, 49L, 50L)), MS);
        }
        assertThat(failures.get(0).describe())
                .startsWith("rank 1 called another operation than ranks 0 and 2 at or before sequence=898; ");
    }

    @Test
    void aMismatchWaitsBrieflyForTheRankThatShowsWhichOneDiffers() {
        coordinator.report(1, ReportKind.MISMATCH, 3, "other data", 0);
        answer(at(0, 2), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(entered(2, 3, 6, 11), MS);
        assertThat(failures).isEmpty();
        coordinator.tick(10 * MS);
        answer(entered(0, 3, 6, 11), 11 * MS);
        answer(entered(1, 3, 5, 10), 11 * MS);
        answer(entered(2, 3, 6, 11), 11 * MS);
        assertThat(failures.get(0).text()).startsWith("rank 1 called count=10, ranks 0 and 2 count=11 in all_reduce");
    }

    @Test
    void aMismatchIsReportedWithoutARankThatStaysAway() {
        coordinator.report(1, ReportKind.MISMATCH, 3, "other data", 0);
        for (long now = 0; now <= Inquiries.ENTER_NANOS; now += 10 * MS) {
            coordinator.tick(now);
            answer(at(0, 2), now);
            answer(entered(1, 3, 5, 10), now);
            answer(entered(2, 3, 6, 11), now);
        }
        assertThat(failures.get(0).text()).startsWith("rank 1 called count=10, rank 2 count=11 in all_reduce");
    }

    private static Position position(long sequence, long fingerprint) {
        return new Position(new LastEntered(sequence, 0), fingerprint, 0);
    }

    @Test
    void ranksWithDifferentFingerprintsAtOneSequenceAreAsked() {
        coordinator.heartbeat(0, position(3, 5), 0);
        coordinator.heartbeat(1, position(2, 9), 0);
        coordinator.heartbeat(2, position(3, 5), 0);
        assertThat(queries)
                .as("no two ranks have different fingerprints at one sequence")
                .isEmpty();
        coordinator.heartbeat(1, position(3, 10), 0);
        assertThat(queries).hasSize(3).extracting(Query::sequence).containsOnly(3L);
        answer(entered(0, 3, 5, 1), MS);
        answer(entered(1, 3, 10, 2), MS);
        answer(entered(2, 3, 5, 1), MS);
        assertThat(failures.get(0).text()).startsWith("rank 1 called count=2, ranks 0 and 2 count=1 in all_reduce");
    }

    @Test
    void ranksWithDifferentDeviceFingerprintsAreAskedAboutTheDeviceOperation() {
        coordinator.heartbeat(0, new Position(new LastEntered(3, 2), 5, 7), 0);
        coordinator.heartbeat(1, new Position(new LastEntered(3, 2), 5, 8), 0);
        assertThat(queries).hasSize(3).extracting(Query::sequence).containsOnly(LastEntered.onDevice(2));
    }

    @Test
    void aRankThatLeavesIsReleasedOnceTheOthersHaveComeAsFar() {
        coordinator.heartbeat(1, position(3, 5), 0);
        coordinator.fin(0, position(3, 5), 0);
        assertThat(asked).containsExactly(2);
        assertThat(left).isEmpty();
        coordinator.heartbeat(2, position(2, 4), MS);
        assertThat(left).isEmpty();
        coordinator.fin(2, position(3, 5), 2 * MS);
        assertThat(left).containsExactly(0, 2);
        assertThat(coordinator.departed()).containsExactly(0, 2);
        assertThat(failures).isEmpty();
    }

    @Test
    void aRankThatLeavesWaitsForABoundedTime() {
        coordinator.fin(0, position(3, 5), 0);
        assertThat(coordinator.tick(MS)).isLessThanOrEqualTo(Coordinator.LEAVE_NANOS - MS);
        assertThat(left).isEmpty();
        coordinator.tick(Coordinator.LEAVE_NANOS);
        assertThat(left).containsExactly(0);
    }

    @Test
    void aRankThatLeavesReceivesTheMismatch() {
        coordinator.fin(0, position(3, 5), 0);
        coordinator.fin(1, position(3, 6), Coordinator.LEAVE_NANOS - MS);
        coordinator.tick(Coordinator.LEAVE_NANOS);
        assertThat(left).as("the inquiry is not complete").isEmpty();
        answer(entered(0, 3, 5, 1), MS);
        answer(entered(1, 3, 6, 2), MS);
        answer(entered(2, 3, 5, 1), MS);
        assertThat(failures.get(0).text()).startsWith("rank 1 called count=2, ranks 0 and 2 count=1 in all_reduce");
        assertThat(left).containsExactly(0, 1);
        coordinator.fin(2, position(3, 5), 2 * MS);
        assertThat(left).containsExactly(0, 1, 2);
    }

    @Test
    void aMismatchNamesARankThatHasLeft() {
        coordinator.fin(1, position(3, 6), 0);
        coordinator.tick(Coordinator.LEAVE_NANOS);
        coordinator.heartbeat(0, position(3, 5), Coordinator.LEAVE_NANOS);
        answer(entered(0, 3, 5, 1).with(trail(3, 3L, 4L, 5L)), Coordinator.LEAVE_NANOS);
        answer(entered(2, 3, 5, 1).with(trail(3, 3L, 4L, 5L)), Coordinator.LEAVE_NANOS);
        assertThat(failures.get(0).text())
                .startsWith("rank 1 called another operation than ranks 0 and 2 at or before sequence=3; ");
    }

    @Test
    void aRankThatDoesNotAnswerIsNamedWhenTheTimeIsUp() {
        coordinator.report(0, ReportKind.TIMEOUT, 7, "late", 0);
        answer(entered(0, 7, 5, 10), MS);
        answer(entered(2, 7, 5, 10), MS);
        assertThat(coordinator.tick(QUERY - MS)).isEqualTo(MS);
        assertThat(failures).isEmpty();
        coordinator.tick(QUERY);
        assertThat(failures.get(0).missingRanks()).containsExactly(1);
        assertThat(failures.get(0).describe()).contains("rank=1 did not answer");
    }

    @Test
    void aRankThatIsLateOnlyBecauseItWaitsForAnotherIsNotMissing() {
        coordinator.report(1, ReportKind.TIMEOUT, 8, "late", 0); // rank 1 is one operation ahead
        answer(waiting(0, 7, 2), MS);
        answer(entered(1, 8, 5, 10), MS);
        coordinator.tick(QUERY);
        assertThat(failures.get(0).missingRanks()).containsExactly(2);
        assertThat(failures.get(0).describe())
                .contains("rank=0 never entered sequence=8, its last is 7", "waits for data from peer=2");
    }

    @Test
    void lateRanksThatAllWaitAreAllMissing() {
        coordinator.report(1, ReportKind.TIMEOUT, 8, "late", 0);
        answer(waiting(0, 7, 2), MS);
        answer(entered(1, 8, 5, 10), MS);
        answer(waiting(2, 7, 0), MS);
        assertThat(failures.get(0).missingRanks()).containsExactly(0, 2);
    }

    @Test
    void aStallWithDifferentFingerprintsIsAMismatchWithARowPerRank() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(entered(2, 3, 6, 11), MS);
        assertThat(failures.get(0).toException())
                .isInstanceOfSatisfying(MismatchedCollectiveException.class, e -> assertThat(e.rows())
                        .extracting(RankOperation::count)
                        .containsExactly(10L, 10L, 11L));
    }

    @Test
    void aStallOfHealthyRanksIsNoFailureAndTheNextReportIsExaminedAgain() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(at(2, 2), MS);
        assertThat(failures).isEmpty();
        coordinator.report(2, ReportKind.STALLED, 3, "", 2 * MS);
        assertThat(queries).hasSize(6);
    }

    @Test
    void ranksLookForStalledConnectionsOnlyAfterATimeOut() {
        coordinator.report(1, ReportKind.STALLED, 2, "", 0);
        coordinator.report(1, ReportKind.MISMATCH, 3, "", 0);
        coordinator.report(1, ReportKind.TIMEOUT, 4, "timed out", 0);
        assertThat(queries).filteredOn(query -> query.sequence() < 4).noneMatch(Query::withNetwork);
        assertThat(queries).filteredOn(query -> query.sequence() == 4).allMatch(Query::withNetwork);
    }

    @Test
    void operationsThatAreNotComparedNeverMismatch() {
        coordinator.report(1, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 0, 10), MS);
        answer(entered(1, 3, 5, 11), MS);
        answer(entered(2, 3, 0, 12), MS);
        assertThat(failures).isEmpty();
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
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.MISMATCH);
    }

    @Test
    void aTimeoutTakesOverARunningInquiry() {
        coordinator.report(0, ReportKind.STALLED, 3, "", 0);
        coordinator.report(1, ReportKind.TIMEOUT, 3, "too long", MS);
        assertThat(queries).hasSize(3);
        coordinator.tick(QUERY);
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.TIMEOUT);
        assertThat(failures.get(0).reporter()).isEqualTo(1);
    }

    @Test
    void deathsCloseInTimeAreOneFailureAndExplainATransportReport() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection reset", 0);
        answer(entered(0, 3, 5, 10), MS);
        coordinator.lost(2, "closed", MS);
        coordinator.tick(2 * MS);
        coordinator.lost(1, "closed", 3 * MS);
        assertThat(failures).isEmpty();
        coordinator.tick(MS + LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(1, 2));
    }

    @Test
    void aTransportReportStandsIfAllRanksLive() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection reset by peer=1", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(1, 3, 5, 10), MS);
        answer(entered(2, 3, 5, 10), MS);
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.TRANSPORT);
        assertThat(failures.get(0).text()).contains("peer=1");
    }

    @Test
    void aRankThatIsSilentAfterATransportReportHasFailed() {
        coordinator.report(0, ReportKind.TRANSPORT, 3, "connection timed out", 0);
        answer(entered(0, 3, 5, 10), MS);
        answer(entered(2, 3, 5, 10), MS);
        coordinator.tick(QUERY);
        assertThat(failures.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(1))
                .hasMessageContaining("connection timed out")
                .hasMessageContaining("rank=1 did not answer");
    }

    @Test
    void anAbortNeedsNoInquiry() {
        coordinator.report(2, ReportKind.ABORT, 4, "stop", 0);
        assertThat(queries).isEmpty();
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.ABORTED);
    }

    @Test
    void theFirstFailureIsTheOnlyOne() {
        coordinator.report(2, ReportKind.ABORT, 4, "stop", 0);
        coordinator.report(1, ReportKind.ABORT, 4, "stop too", 0);
        coordinator.lost(0, "closed", 0);
        coordinator.tick(QUERY);
        assertThat(failures).hasSize(1);
    }

    @Test
    void silenceIsDeathOnlyAfterTheTimeout() {
        for (long now = 0; now < HEARTBEAT; now += 500 * MS) {
            coordinator.heard(0, now);
            coordinator.heard(1, now);
            coordinator.tick(now);
        }
        assertThat(failures).isEmpty();
        coordinator.tick(HEARTBEAT);
        coordinator.tick(HEARTBEAT + LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures.get(0).failedRanks()).containsExactly(2);
        assertThat(failures.get(0).text()).contains("silent for 5000 ms");
    }

    @Test
    void aRankThatCountsAsDeadMayLeaveAtOnce() {
        coordinator.lost(2, "silent", 0);
        coordinator.fin(2, position(3, 5), MS);
        assertThat(left).containsExactly(2);
        coordinator.tick(LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures.get(0).failedRanks()).containsExactly(2);
    }

    @Test
    void aRankThatCountedAsDeadMayLeaveAfterTheFailure() {
        coordinator.lost(2, "silent", 0);
        coordinator.tick(LivingRanks.GATHER_DEATHS_NANOS);
        coordinator.fin(2, position(3, 5), QUERY);
        assertThat(left).containsExactly(2);
    }

    /** Two ranks of a lost host have sent their last heartbeats at different times. */
    @Test
    void ranksThatFallSilentOneAfterTheOtherAreOneFailure() {
        long apart = HEARTBEAT / 4;
        for (long now = 0; now <= HEARTBEAT + apart; now += 50 * MS) {
            coordinator.heard(0, now);
            if (now <= apart) {
                coordinator.heard(1, now);
            }
            coordinator.tick(now);
        }
        coordinator.tick(HEARTBEAT + apart + LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures).hasSize(1);
        assertThat(failures.get(0).failedRanks()).containsExactly(1, 2);
    }

    /** A rank whose connection has ended is more than silent: the failure names it at once. */
    @Test
    void aRankThatDiesIsNamedWithoutWaitingForSilentRanks() {
        for (long now = 0; now < HEARTBEAT * 3 / 4; now += 50 * MS) {
            coordinator.heard(0, now);
            coordinator.heard(2, now);
            coordinator.tick(now);
        }
        coordinator.lost(2, "closed", HEARTBEAT * 3 / 4);
        coordinator.tick(HEARTBEAT * 3 / 4 + LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures.get(0).failedRanks()).containsExactly(2);
    }

    @Test
    void aPauseOfTheCoordinatorFailsNoRank() {
        coordinator.tick(MS);
        coordinator.tick(100 * HEARTBEAT);
        coordinator.tick(100 * HEARTBEAT + LivingRanks.GATHER_DEATHS_NANOS);
        assertThat(failures).isEmpty();
    }

    /** Lets a rank leave at once: its connection breaks after its FIN. */
    private void leave(int rank, LastEntered lastEntered) {
        coordinator.fin(rank, new Position(lastEntered, 0, 0), 0);
        coordinator.lost(rank, "closed", 0);
    }

    @Test
    void aRankThatClosedFailsOnlyOperationsThatItDidNotEnter() {
        leave(2, new LastEntered(3, 1));
        coordinator.lost(2, "closed", MS);
        coordinator.tick(100 * MS);
        coordinator.report(0, ReportKind.STALLED, 3, "", 0);
        answer(entered(0, 3, 5, 1), 0);
        answer(entered(1, 3, 5, 1), 0);
        assertThat(failures).as("rank 2 had entered this operation").isEmpty();
        coordinator.report(0, ReportKind.STALLED, 4, "", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.DEPARTED);
        assertThat(failures.get(0).toException())
                .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                        .containsExactly(2))
                .hasMessageContaining("closed their communicator before sequence=4");
    }

    @Test
    void operationsOnDevicesHaveTheirOwnSequence() {
        long third = LastEntered.onDevice(3);
        coordinator.report(0, ReportKind.TIMEOUT, third, "late", 0);
        for (int rank = 0; rank < 3; rank++) {
            LastEntered last = new LastEntered(rank == 1 ? 3 : 8, rank == 1 ? 2 : 3);
            Optional<OperationRecord> record =
                    rank == 1 ? Optional.empty() : entered(rank, 3, 5, 1).operation();
            answer(new RankStatus(rank, RankStatus.State.ANSWERED, last, record, List.of()), 0);
        }
        assertThat(failures.get(0).missingRanks()).containsExactly(1);
        assertThat(failures.get(0).describe())
                .contains("; sequence=3 (device)")
                .contains("rank=1 never entered sequence=3 (device), its last is 2");
    }

    @Test
    void aRankThatLeftAfterItsLastOperationOnTheDeviceIsNeededByTheNext() {
        leave(2, new LastEntered(9, 3));
        coordinator.report(0, ReportKind.STALLED, LastEntered.onDevice(3), "", 0);
        answer(entered(0, 3, 5, 1), 0);
        answer(entered(1, 3, 5, 1), 0);
        assertThat(failures).as("rank 2 had entered this operation").isEmpty();
        coordinator.report(0, ReportKind.STALLED, LastEntered.onDevice(4), "", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.DEPARTED);
        assertThat(failures.get(0).text()).contains("before sequence=4 (device)");
    }

    @Test
    void closingDuringAnInquiryCountsAsAnAnswer() {
        coordinator.report(0, ReportKind.TIMEOUT, 4, "late", 0);
        answer(entered(0, 4, 5, 1), 0);
        answer(entered(1, 4, 5, 1), 0);
        leave(2, new LastEntered(3, 1));
        assertThat(failures.get(0).kind()).isEqualTo(FailureReport.Kind.DEPARTED);
        assertThat(failures.get(0).failedRanks()).isEqualTo(new TreeSet<>(List.of(2)));
    }

    @Test
    void manyOpenInquiriesStayBounded() {
        for (int sequence = 1; sequence < 1000; sequence++) {
            coordinator.report(0, ReportKind.STALLED, sequence, "", 0);
        }
        coordinator.tick(QUERY);
        assertThat(failures).isEmpty();
    }
}
