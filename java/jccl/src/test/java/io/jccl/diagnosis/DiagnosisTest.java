package io.jccl.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.status.Absentee;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests which ranks a diagnosis names and how it describes them, also with more ranks than this host can start. */
class DiagnosisTest {

    private static final long SECOND = 1_000_000_000L;

    private static Finding only(List<CommunicatorSample> samples) {
        List<Finding> findings = Diagnosis.of(samples).findings();
        assertThat(findings).hasSize(1);
        return findings.get(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 64, 1000})
    void namesTheRankThatHasNotEntered(int size) {
        SimulatedRanks ranks = new SimulatedRanks(size, 812).computes(1, 811);
        Finding finding = only(List.of(ranks.sample(), ranks.sample()));
        assertThat(finding.kind()).isEqualTo(Finding.Kind.ABSENT);
        assertThat(finding.ranks()).isEqualTo(Set.of(1));
        assertThat(finding.text())
                .startsWith("rank 1 (pid 1001 on node0) has not entered sequence=812, the last is 811; " + (size - 1));
    }

    @Test
    void ranksAndProcessesThatACallWaitsForAreNamed() {
        CommunicatorSample process = SimulatedRanks.inCall(4, "reform(joiners=1)", new TreeSet<>(), 1)
                .sample();
        assertThat(only(List.of(process)).text())
                .isEqualTo("a process that joins has not come: the others are in a call, 100.0 s so far");
        CommunicatorSample both = SimulatedRanks.inCall(4, "reform(joiners=2)", new TreeSet<>(Set.of(1, 3)), 2)
                .sample();
        assertThat(only(List.of(both)).text())
                .startsWith("ranks 1 and 3 and 2 processes that join have not come: the others");
        assertThat(only(List.of(both)).ranks()).isEqualTo(Set.of(1, 3));
    }

    @Test
    void twoLateRanksAreNamedTogether() {
        SimulatedRanks ranks = new SimulatedRanks(1000, 812).computes(17, 811).computes(500, 809);
        assertThat(only(List.of(ranks.sample())).ranks()).isEqualTo(Set.of(17, 500));
    }

    @Test
    void findingsOfAThousandRanksAreShortAndTheWorstComesFirst() {
        SimulatedRanks ranks = new SimulatedRanks(1000, 812);
        for (int rank = 0; rank < 1000; rank += 3) {
            ranks.waits(rank, 700 + rank % 60, (rank + 1) % 1000, SECOND);
        }
        ranks.computes(5, 640).absent(7, Absentee.Reason.STOPPED).absent(8, Absentee.Reason.UNREACHABLE);
        List<Finding> findings = Diagnosis.of(List.of(ranks.sample())).findings();
        assertThat(findings).extracting(Finding::kind).containsExactly(Finding.Kind.STOPPED, Finding.Kind.UNREACHABLE);
        assertThat(findings.get(0).text()).startsWith("rank 7 (pid 1007 on node0) ");
        assertThat(findings.get(1).text()).startsWith("rank 8 ");
        assertThat(findings).extracting(Finding::text).allSatisfy(text -> assertThat(text)
                .hasSizeLessThan(400));
    }

    @Test
    void aRankThatIsLateForSeveralOperationsIsSlow() {
        CommunicatorSample first = new SimulatedRanks(8, 100).computes(5, 99).sample();
        CommunicatorSample second = new SimulatedRanks(8, 103).computes(5, 102).sample();
        Finding finding = only(List.of(first, second));
        assertThat(finding.kind()).isEqualTo(Finding.Kind.SLOW);
        assertThat(finding.ranks()).isEqualTo(Set.of(5));
    }

    @Test
    void aSlowRankIsNamedAtOnceByTheTimesOfItsLastOperations() {
        long milli = 1_000_000;
        SimulatedRanks ranks = new SimulatedRanks(8, 100);
        for (int rank = 0; rank < 8; rank++) {
            ranks.pace(40 * milli, 10 * milli).waits(rank, 100, (rank + 7) % 8, 2 * milli);
        }
        ranks.pace(milli, 49 * milli).computes(5, 99);
        Finding finding = only(List.of(ranks.sample()));
        assertThat(finding.kind()).isEqualTo(Finding.Kind.SLOW);
        assertThat(finding.ranks()).isEqualTo(Set.of(5));
        assertThat(finding.text()).contains("39 ms later than the others");
    }

    @Test
    void aSlowRankThatNoLongerEntersOperationsIsAbsent() {
        long milli = 1_000_000;
        SimulatedRanks ranks = new SimulatedRanks(8, 100);
        for (int rank = 0; rank < 8; rank++) {
            ranks.pace(40 * milli, 10 * milli).waits(rank, 100, (rank + 7) % 8, 30 * SECOND);
        }
        ranks.pace(milli, 49 * milli).computes(5, 99);
        assertThat(only(List.of(ranks.sample())).kind()).isEqualTo(Finding.Kind.ABSENT);
    }

    @Test
    void ranksThatAreLateInTurnAreNotSlow() {
        CommunicatorSample first = new SimulatedRanks(8, 100).computes(5, 99).sample();
        CommunicatorSample second = new SimulatedRanks(8, 103)
                .waits(0, 103, 7, 30_000_000L)
                .computes(2, 102)
                .sample();
        assertThat(Diagnosis.of(List.of(first, second)).findings())
                .noneMatch(finding -> finding.kind() == Finding.Kind.SLOW);
    }

    @Test
    void theMinorityIsNamedIfRanksCalledDifferentOperations() {
        SimulatedRanks ranks = new SimulatedRanks(8, 812).differs(3, 812, 100, SECOND);
        Finding finding = only(List.of(ranks.sample()));
        assertThat(finding.kind()).isEqualTo(Finding.Kind.MISMATCHED);
        assertThat(finding.ranks()).isEqualTo(Set.of(3));
        assertThat(finding.text()).startsWith("rank 3 called count=100, ranks {0-2,4-7} count=1048576 in all_reduce");
    }

    @Test
    void shortWaitsAreNoFindings() {
        SimulatedRanks ranks = new SimulatedRanks(3, 5);
        for (int rank = 0; rank < 3; rank++) {
            ranks.waits(rank, 5, (rank + 1) % 3, 2_000_000);
        }
        ranks.computes(1, 4);
        assertThat(Diagnosis.of(List.of(ranks.sample())).findings()).isEmpty();
    }
}
