package io.jccl.cli.ps;

import io.jccl.bootstrap.Difference;
import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.OperationRecord;
import io.jccl.bootstrap.RankStatus;
import io.jccl.status.RankSnapshot.Phase;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** Which ranks the others wait for in an operation, by the rules of the coordinator ({@link RankStatus#missing}). */
final class LateRanks {

    private LateRanks() {}

    /** Late ranks in one sample: those that others wait for in an operation. */
    record Late(long sequence, SortedSet<Integer> ranks, long waitedNanos) {}

    /**
     * The operation to ask about next: the one that others wait in for a rank, or in which they first differed; 0 for whatever each
     * does.
     */
    static long question(List<CommunicatorSample> samples) {
        CommunicatorSample now = samples.get(samples.size() - 1);
        long sequence = waitedFor(now);
        return sequence == 0
                ? 0
                : Difference.in(normalised(rows(now), sequence), sequence)
                        .map(Difference::sequence)
                        .orElse(sequence);
    }

    /** What the ranks that run report. */
    static List<RankStatus> rows(CommunicatorSample sample) {
        return sample.in(Phase.RUNNING).stream().map(RankView::status).toList();
    }

    /** The rows with nothing about other operations than one. */
    static List<RankStatus> normalised(List<RankStatus> rows, long sequence) {
        return rows.stream()
                .map(row -> row.operation()
                                .map(OperationRecord::operation)
                                .filter(it -> it.sequence() == LastEntered.plain(sequence))
                                .isPresent()
                        ? row
                        : new RankStatus(
                                row.rank(), row.state(), row.lastEntered(), Optional.empty(), row.waits(), row.trail()))
                .toList();
    }

    /** The last operation that any rank is in; 0 if none is in one with a number. */
    static long waitedFor(CommunicatorSample sample) {
        return sample.in(Phase.RUNNING).stream()
                .filter(rank -> rank.sequence() != 0 && rank.waitedNanos() >= Diagnosis.NOTED_NANOS)
                .mapToLong(RankView::sequence)
                .max()
                .orElse(0);
    }

    /** The late ranks of a sample; empty if nobody waits, or all are late. */
    static Optional<Late> in(CommunicatorSample sample) {
        long sequence = waitedFor(sample);
        if (sequence == 0) {
            return Optional.empty();
        }
        SortedSet<Integer> ranks = RankStatus.missing(normalised(rows(sample), sequence), sequence);
        long waited = sample.in(Phase.RUNNING).stream()
                .filter(rank -> !ranks.contains(rank.rank()))
                .mapToLong(RankView::waitedNanos)
                .max()
                .orElse(0);
        return ranks.isEmpty() || ranks.size() == sample.size()
                ? Optional.empty()
                : Optional.of(new Late(sequence, ranks, waited));
    }

    /** The ranks that were late for different operations. */
    static SortedSet<Integer> slow(List<CommunicatorSample> samples) {
        SortedSet<Integer> slow = new TreeSet<>();
        List<Late> all =
                samples.stream().map(LateRanks::in).flatMap(Optional::stream).toList();
        for (Late one : all) {
            for (Late other : all) {
                if (one.sequence() != other.sequence()) {
                    SortedSet<Integer> both = new TreeSet<>(one.ranks());
                    both.retainAll(other.ranks());
                    slow.addAll(both);
                }
            }
        }
        return slow;
    }
}
