package io.jccl.diagnosis;

import io.jccl.ChannelWait;
import io.jccl.control.Difference;
import io.jccl.control.RankStatus;
import io.jccl.status.CommunicatorView.UnderWay;
import io.jccl.status.RankSnapshot.Phase;
import io.jccl.wire.LastEntered;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Finds the ranks that hold an operation up, by the rules of the coordinator ({@link RankStatus#missing},
 * {@link Difference}).
 */
final class OperationRules {

    /**
     * A slow rank counts as absent after the longer of two times: this one, and {@link #USUAL_TIMES} times its average
     * time between two operations.
     */
    private static final long USUAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int USUAL_TIMES = 3;

    private final List<CommunicatorSample> samples;
    private final CommunicatorSample now;

    OperationRules(List<CommunicatorSample> samples) {
        this.samples = samples;
        this.now = samples.get(samples.size() - 1);
    }

    /** Returns a finding about the ranks that called another operation than the others. */
    Optional<Finding> mismatched() {
        long sequence = LateRanks.waitedFor(now);
        if (sequence == 0) {
            return Optional.empty();
        }
        List<RankStatus> rows = LateRanks.rows(now);
        return Difference.in(rows, sequence)
                .map(difference ->
                        new Finding(Finding.Kind.MISMATCHED, difference.groups().get(0), difference.describe(rows)));
    }

    /** Returns a finding about the ranks that have not entered the operation, or enter operations late again and again. */
    Optional<Finding> late() {
        SortedMap<Integer, Long> lateness = Lateness.of(now);
        SortedSet<Integer> slow = LateRanks.slow(samples);
        slow.addAll(lateness.keySet());
        Optional<LateRanks.Late> late = LateRanks.in(now).filter(it -> it.waitedNanos() >= UnderWay.LONG_NANOS);
        if (late.isPresent() && !isUsual(late.get(), slow)) {
            SortedSet<Integer> ranks = late.get().ranks();
            return Optional.of(new Finding(
                    Finding.Kind.ABSENT,
                    ranks,
                    Wording.who(now, ranks) + (ranks.size() == 1 ? " has" : " have") + " not entered sequence="
                            + LastEntered.text(late.get().sequence()) + lastOf(ranks) + Wording.waiters(now)));
        }
        if (slow.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new Finding(
                Finding.Kind.SLOW,
                slow,
                Wording.who(now, slow) + (slow.size() == 1 ? " is" : " are") + " slow: came to operations up to "
                        + Durations.text(howLate(lateness)) + " later than the others, which waited"));
    }

    /**
     * Returns true if the late ranks are slow rather than absent: they were late for different operations in the
     * samples, or all are known to be slow and others have not waited for them much longer than usual.
     */
    private boolean isUsual(LateRanks.Late late, SortedSet<Integer> slow) {
        if (LateRanks.slow(samples).containsAll(late.ranks())) {
            return true;
        }
        long usual = USUAL_NANOS;
        for (int rank : late.ranks()) {
            usual = Math.max(usual, USUAL_TIMES * Lateness.outside(now.ranks().get(rank)));
        }
        return slow.containsAll(late.ranks()) && late.waitedNanos() < usual;
    }

    private long howLate(SortedMap<Integer, Long> lateness) {
        long recorded =
                lateness.values().stream().mapToLong(Long::longValue).max().orElse(0);
        return recorded != 0
                ? recorded
                : samples.stream()
                        .map(LateRanks::in)
                        .flatMap(Optional::stream)
                        .mapToLong(LateRanks.Late::waitedNanos)
                        .max()
                        .orElse(0);
    }

    private String lastOf(SortedSet<Integer> ranks) {
        return ranks.size() > 1
                ? ""
                : ", the last is "
                        + now.ranks().get(ranks.first()).status().lastEntered().host();
    }

    /**
     * Returns a finding about the ranks that are in no operation although other ranks wait for them in sends and
     * receives. Sends and receives have no sequence numbers.
     */
    Optional<Finding> missingInTransfers() {
        SortedSet<Integer> idle = new TreeSet<>();
        for (RankView rank : now.in(Phase.RUNNING)) {
            if (rank.waitedNanos() >= UnderWay.LONG_NANOS && rank.sequence() == 0) {
                rank.status().waits().stream()
                        .map(ChannelWait::peer)
                        .filter(peer -> now.ranks().containsKey(peer)
                                && now.ranks().get(peer).is(Phase.RUNNING)
                                && now.ranks().get(peer).call().isEmpty())
                        .forEach(idle::add);
            }
        }
        if (idle.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new Finding(
                Finding.Kind.ABSENT,
                idle,
                Wording.who(now, idle) + (idle.size() == 1 ? " is" : " are") + " in no operation"
                        + Wording.waiters(now)));
    }

    /**
     * Returns a finding about the ranks that are in the operation and wait for nobody. All ranks have entered it, so
     * the others wait for these ranks.
     */
    Optional<Finding> stalled() {
        if (now.longestWaitNanos() <= UnderWay.LONG_NANOS) {
            return Optional.empty();
        }
        SortedSet<Integer> busy = RankView.numbers(now.in(Phase.RUNNING).stream()
                .filter(rank -> rank.call().isPresent() && rank.status().waits().isEmpty())
                .toList());
        String text = busy.isEmpty()
                ? "all ranks of the operation wait for each other"
                : Wording.who(now, busy) + (busy.size() == 1 ? " is" : " are")
                        + " in an operation without waiting for others: the thread gets no processor, or data"
                        + " that it sent did not arrive";
        return Optional.of(new Finding(Finding.Kind.STALLED, busy, text + Wording.waiters(now)));
    }
}
