package io.jccl.diagnosis;

import io.jccl.control.RankStatus;
import io.jccl.status.RankSnapshot.Phase;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Finds the ranks that others wait for in an operation, by the rules of the coordinator ({@link RankStatus#missing}).
 */
final class LateRanks {

    private LateRanks() {}

    /**
     * The late ranks of one sample: those that others wait for in an operation.
     *
     * @param sequence number of the operation
     * @param ranks the late ranks
     * @param waitedNanos longest time that another rank has waited
     */
    record Late(long sequence, SortedSet<Integer> ranks, long waitedNanos) {}

    /** Returns the reports of the running ranks. */
    static List<RankStatus> rows(CommunicatorSample sample) {
        return sample.in(Phase.RUNNING).stream().map(RankView::status).toList();
    }

    /** Returns the last operation in which a rank waits; 0 if no rank waits in an operation with a number. */
    static long waitedFor(CommunicatorSample sample) {
        return sample.in(Phase.RUNNING).stream()
                .filter(rank -> rank.sequence() != 0 && rank.isHeldUp())
                .mapToLong(RankView::sequence)
                .max()
                .orElse(0);
    }

    /** Returns the late ranks of a sample; empty if nobody waits, or if all ranks are late. */
    static Optional<Late> in(CommunicatorSample sample) {
        long sequence = waitedFor(sample);
        if (sequence == 0) {
            return Optional.empty();
        }
        SortedSet<Integer> ranks = RankStatus.missing(rows(sample), sequence);
        long waited = sample.in(Phase.RUNNING).stream()
                .filter(rank -> !ranks.contains(rank.rank()))
                .mapToLong(RankView::waitedNanos)
                .max()
                .orElse(0);
        return ranks.isEmpty() || ranks.size() == sample.size()
                ? Optional.empty()
                : Optional.of(new Late(sequence, ranks, waited));
    }

    /** Returns the ranks that were late for different operations. */
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
