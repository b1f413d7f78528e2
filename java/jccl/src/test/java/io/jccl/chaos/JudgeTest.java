package io.jccl.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.TransportKind;
import io.jccl.testing.WorkerProcess.Report;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Tests that the judge finds what must not happen and allows the rest. */
class JudgeTest {

    private static final long SECOND = 1_000_000_000L;
    private static final String NAMED = "failed OPERATION PeerFailedException [1] rank 1 failed";

    private final List<List<Report>> reports =
            new ArrayList<>(List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>()));

    private static Round round(Fault fault, Integer... victims) {
        return new Round(
                1, 4, TransportKind.SHM, 1, Phase.OPERATION, fault, new TreeSet<>(Set.of(victims)), false, 0, 0);
    }

    private void report(int rank, double seconds, String... texts) {
        for (String text : texts) {
            reports.get(rank).add(new Report((long) (seconds * SECOND), text));
        }
    }

    private Judge.Decision decide(Round round) {
        return new Judge(1).decide(new RoundLog(round, 0, reports, Map.of(), List.of()));
    }

    private void allGoOn(int... ranks) {
        for (int rank : ranks) {
            report(rank, 1, NAMED, "on id [0, 2, 3]", "end WENT_ON");
        }
    }

    @Test
    void survivorsThatNameTheVictimMayContinue() {
        allGoOn(0, 2, 3);
        assertThat(decide(round(Fault.KILL, 1)).outcome()).isEqualTo(Judge.Outcome.WENT_ON);
    }

    @Test
    void aFailureThatNamesAnotherRankIsFound() {
        allGoOn(0, 2);
        report(3, 1, "failed OPERATION PeerFailedException [2] rank 2 failed", "on id [0, 2, 3]", "end WENT_ON");
        assertThat(decide(round(Fault.KILL, 1)).faults()).anyMatch(fault -> fault.contains("no victims"));
    }

    @Test
    void aFailureThatNamesNobodyIsFound() {
        allGoOn(0, 2);
        report(3, 1, "failed OPERATION TransportException [] something broke", "on id [0, 2, 3]", "end WENT_ON");
        assertThat(decide(round(Fault.KILL, 1)).faults()).anyMatch(fault -> fault.contains("names nobody"));
    }

    @Test
    void aFailureWithoutCauseIsFound() {
        allGoOn(0, 2, 3);
        assertThat(decide(round(Fault.SLOW, 1)).faults()).anyMatch(fault -> fault.contains("without cause"));
    }

    @Test
    void aKillThatIsNoticedLateIsFound() {
        allGoOn(0, 2);
        report(3, 9, NAMED, "on id [0, 2, 3]", "end WENT_ON");
        assertThat(decide(round(Fault.KILL, 1)).faults()).anyMatch(fault -> fault.contains("noticed after 9.0 s"));
    }

    @Test
    void aSecondGroupAndAMinorityAreFound() {
        allGoOn(0, 2, 3);
        report(1, 5, "failed OPERATION PeerFailedException [0, 2, 3] cut off", "on other [1]", "end WENT_ON");
        assertThat(decide(round(Fault.PARTITION, 1)).faults())
                .anyMatch(fault -> fault.contains("several groups"))
                .anyMatch(fault -> fault.contains("a minority of 1"));
    }

    @Test
    void ranksThatCouldContinueAndDoNotAreFound() {
        allGoOn(0, 2);
        report(3, 1, NAMED, "refused without [1] no", "end REFUSED");
        assertThat(decide(round(Fault.STOP, 1)).faults()).anyMatch(fault -> fault.contains("could go on"));
    }

    @Test
    void resourcesLeftBehindAndUnexpectedExceptionsAreFound() {
        allGoOn(0, 2);
        report(3, 1, NAMED, "end BUG java.lang.AssertionError: wrong");
        RoundLog log = new RoundLog(
                round(Fault.KILL, 1), 0, reports, Map.of(0, "{descriptor socket:[#]=1}"), List.of("rank 2 hangs"));
        assertThat(new Judge(1).decide(log).faults())
                .contains("rank 2 hangs", "rank 0 holds {descriptor socket:[#]=1}")
                .anyMatch(fault -> fault.contains("rank 3 threw java.lang.AssertionError"));
    }

    @Test
    void twoOfFourMayContinueIfTheOthersHaveEndedOrWithRankZero() {
        for (int rank : new int[] {2, 3}) {
            report(rank, 1, "failed OPERATION PeerFailedException [0, 1] gone", "on id [2, 3]", "end WENT_ON");
        }
        assertThat(decide(round(Fault.KILL, 0, 1)).outcome()).isEqualTo(Judge.Outcome.WENT_ON);
        assertThat(decide(round(Fault.STOP, 0, 1)).faults()).containsExactly("a minority of 2 among 4 went on: [2, 3]");
        report(0, 0.5, "refused: excluded [0, 1]", "end REFUSED");
        assertThat(decide(round(Fault.STOP, 0, 1)).outcome()).isEqualTo(Judge.Outcome.WENT_ON);
        reports.forEach(List::clear);
        for (int rank : new int[] {0, 3}) {
            report(rank, 1, "failed OPERATION PeerFailedException [1, 2] gone", "on id [0, 3]", "end WENT_ON");
        }
        assertThat(decide(round(Fault.STOP, 1, 2)).outcome()).isEqualTo(Judge.Outcome.WENT_ON);
    }
}
