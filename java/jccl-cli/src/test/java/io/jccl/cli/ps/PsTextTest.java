package io.jccl.cli.ps;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.ChannelWait;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.control.RankStatus;
import io.jccl.control.Trail;
import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.diagnosis.Finding;
import io.jccl.diagnosis.RankView;
import io.jccl.status.CommunicatorView;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.LastEntered;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Tests how the output of {@code jccl ps} reads, also with more ranks than this host can start. */
class PsTextTest {

    private static final int SIZE = 1000;
    private static final int RANKS_OF_HOST = 8;
    private static final long SECOND = 1_000_000_000L;

    private final SortedMap<Integer, RankView> ranks = new TreeMap<>();

    private String text(Finding... findings) {
        CommunicatorSample sample = new CommunicatorSample("3f2a91c0", "77aa01bc", 0, ranks.size(), ranks, List.of());
        return PsText.of(List.of(new Diagnosis(sample, List.of(findings))), List.of(), List.of(), false, false);
    }

    /** Adds a rank that waits for the rank before it in an operation. */
    private void waits(int rank, long sequence) {
        ChannelWait wait = new ChannelWait(
                rank, 0, (rank + SIZE - 1) % SIZE, TransportKind.SHM, WaitFor.DATA, Protocol.SIMPLE, 17);
        put(rank, "", sequence, List.of(wait));
    }

    /** Adds a rank without an operation; {@code call} is empty or makes another communicator. */
    private void idles(int rank, String call, long last) {
        put(rank, call, last, List.of());
    }

    private void put(int rank, String call, long last, List<ChannelWait> waits) {
        LastEntered entered = new LastEntered(last, 0);
        RankSnapshot snapshot = new RankSnapshot(
                "3f2a91c0",
                "77aa01bc",
                0,
                SIZE,
                RankSnapshot.Phase.RUNNING,
                call,
                100 * SECOND,
                "",
                new TreeSet<>(),
                new RankStatus(
                        rank, RankStatus.State.ANSWERED, entered, Optional.empty(), waits, new Trail(0, List.of()), ""),
                waits.stream().map(wait -> SECOND).toList(),
                entered,
                waits.isEmpty()
                        ? Optional.empty()
                        : Optional.of(new CommunicatorView.UnderWay("all_reduce(count=1)", last, SECOND)),
                List.of(),
                CommunicatorView.Totals.NOTHING,
                CommunicatorView.Pace.UNKNOWN);
        String host = "node" + rank / RANKS_OF_HOST;
        ranks.put(rank, new RankView(rank, host, 1000 + rank, Optional.of(snapshot), Optional.empty()));
    }

    private static Finding absent(int rank) {
        return new Finding(Finding.Kind.ABSENT, new TreeSet<>(Set.of(rank)), "rank " + rank + " has not entered");
    }

    @Test
    void ranksInOneStateShareALine() {
        for (int rank = 0; rank < SIZE; rank++) {
            waits(rank, 812);
        }
        idles(1, "", 811);
        String text = text(absent(1));
        assertThat(text).startsWith("ABSENT rank 1 has not entered\n");
        assertThat(text)
                .contains("  1        node0      in no operation, the last is sequence=811\n")
                .contains("  0,2-999  125 hosts  in all_reduce(count=1) sequence=812 for 1.0 s;"
                        + " wait for rank 1 over shm, for each other over shm\n");
        assertThat(text.lines().count()).as(text).isLessThan(10);
    }

    @Test
    void aCallThatMakesAnotherCommunicatorIsShown() {
        for (int rank = 0; rank < 4; rank++) {
            idles(rank, rank % 2 == 0 ? "reform(joiners=1)" : "", 1);
        }
        assertThat(text())
                .contains("  0,2    node0  in reform(joiners=1) for 100.0 s\n")
                .contains("  1,3    node0  in no operation, the last is sequence=1\n");
    }

    @Test
    void theTextOfAThousandRanksInManyStatesStaysShort() {
        for (int rank = 0; rank < SIZE; rank++) {
            waits(rank, 700 + rank % 60);
        }
        String text = text(absent(7));
        assertThat(text.lines().count()).as(text).isLessThan(40);
        assertThat(text.lines().toList()).as(text).allSatisfy(line -> assertThat(line)
                .hasSizeLessThan(400));
        assertThat(text).contains(" more ranks in 48 states, see --verbose\n");
    }

    @Test
    void aCommunicatorWithoutFindingsIsOk() {
        idles(0, "", 5);
        assertThat(text()).startsWith("OK no rank holds others up\n");
    }
}
