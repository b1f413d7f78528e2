package io.jccl.diagnosis;

import io.jccl.status.CommunicatorView;
import io.jccl.status.RankSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Computes how late ranks came to their last operations from the times that each has recorded. The rank that comes last
 * spends the least time in an operation, because the others wait for it there.
 */
final class Lateness {

    private static final int MIN_OPERATIONS = 4;
    private static final long MIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** Smallest share of the others' time that a rank must cost them to be reported. */
    private static final double MIN_PART = 0.2;

    private Lateness() {}

    /** Returns the ranks that come late to each operation, with their average lateness in nanoseconds. */
    static SortedMap<Integer, Long> of(CommunicatorSample sample) {
        List<RankView> known = new ArrayList<>();
        for (RankView rank : sample.in(RankSnapshot.Phase.RUNNING)) {
            if (pace(rank).operations() >= MIN_OPERATIONS) {
                known.add(rank);
            }
        }
        SortedMap<Integer, Long> late = new TreeMap<>();
        if (known.size() < 2) {
            return late;
        }
        long[] inside = known.stream().mapToLong(Lateness::inside).sorted().toArray();
        long median = inside[inside.length / 2];
        for (RankView rank : known) {
            long mine = inside(rank);
            long nanos = median - mine;
            if (nanos >= MIN_NANOS && 2 * mine <= median && nanos >= MIN_PART * (mine + outside(rank))) {
                late.put(rank.rank(), nanos);
            }
        }
        if (2 * late.size() > known.size()) {
            late.clear(); // the majority cannot be late
        }
        return late;
    }

    private static CommunicatorView.Pace pace(RankView rank) {
        return rank.snapshot().orElseThrow().pace();
    }

    private static long inside(RankView rank) {
        return pace(rank).insideNanos() / pace(rank).operations();
    }

    /** Returns a rank's average time in ns between two operations; 0 if it is not known. */
    static long outside(RankView rank) {
        return pace(rank).operations() == 0
                ? 0
                : pace(rank).outsideNanos() / pace(rank).operations();
    }
}
