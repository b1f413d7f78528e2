package io.jccl.diagnosis;

import io.jccl.control.Difference;
import io.jccl.status.Absentee;
import io.jccl.status.RankSnapshot.Phase;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Decides whether a diagnosis needs another sample of a communicator, and which operation to ask about. */
public final class Sampling {

    /** If others have waited this long for a rank, the rank is absent; no further samples are needed. */
    private static final long CLEAR_NANOS = TimeUnit.SECONDS.toNanos(2);

    /**
     * Limit on the number of samples. If ranks have recorded no times, only further samples show whether a rank is late
     * again.
     */
    private static final int MAX_SAMPLES = 16;

    private Sampling() {}

    /**
     * Returns true if another sample could show more.
     *
     * @param samples the samples of the communicator so far, the latest last
     */
    public static boolean needsMore(List<CommunicatorSample> samples) {
        CommunicatorSample now = samples.get(samples.size() - 1);
        if (!now.in(Phase.FAILED).isEmpty() || now.in(Phase.RUNNING).isEmpty() || hasSilent(now)) {
            return false;
        }
        if (samples.size() == 1 && !now.awaited().isEmpty()) {
            return true;
        }
        Optional<LateRanks.Late> late = LateRanks.in(now);
        if (late.isEmpty()) {
            return samples.size() == 1 && now.ranks().values().stream().anyMatch(RankView::isHeldUp);
        }
        return samples.size() < 2
                || samples.size() < MAX_SAMPLES
                        && late.get().waitedNanos() < CLEAR_NANOS
                        && LateRanks.slow(samples).isEmpty()
                        && Lateness.of(now).isEmpty();
    }

    private static boolean hasSilent(CommunicatorSample sample) {
        return sample.ranks().values().stream()
                .flatMap(rank -> rank.absentee().stream())
                .anyMatch(it -> it.reason() != Absentee.Reason.OFF && it.reason() != Absentee.Reason.REFUSED);
    }

    /**
     * Returns the number of the operation to ask about next: the one in which others wait for a rank, or the first in
     * which ranks differed. 0 asks each rank for its latest operation.
     *
     * @param samples the samples of the communicator so far, the latest last
     */
    public static long question(List<CommunicatorSample> samples) {
        CommunicatorSample now = samples.get(samples.size() - 1);
        long sequence = LateRanks.waitedFor(now);
        return sequence == 0
                ? 0
                : Difference.in(LateRanks.rows(now), sequence)
                        .map(Difference::sequence)
                        .orElse(sequence);
    }
}
