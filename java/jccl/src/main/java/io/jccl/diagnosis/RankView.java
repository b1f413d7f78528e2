package io.jccl.diagnosis;

import io.jccl.control.RankStatus;
import io.jccl.status.Absentee;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.LastEntered;
import java.util.Collection;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * One rank of a communicator in one sample.
 *
 * @param rank the rank
 * @param host the name of its host, or the host's id if the name is not known
 * @param pid the process id; -1 if it is not known
 * @param snapshot the rank's report; empty if there is none
 * @param absentee why there is no report; empty if there is one, or if nothing is known of the rank
 */
public record RankView(int rank, String host, long pid, Optional<RankSnapshot> snapshot, Optional<Absentee> absentee) {

    private static final long HELD_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** Returns the numbers of ranks. */
    public static SortedSet<Integer> numbers(Collection<RankView> ranks) {
        return ranks.stream().map(RankView::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns true if the rank is in a phase. */
    boolean is(RankSnapshot.Phase phase) {
        return snapshot.filter(it -> it.phase() == phase).isPresent();
    }

    /** Returns how long the rank has waited for others, in its operation or on a channel; 0 if it does not wait. */
    long waitedNanos() {
        long longest = 0;
        if (snapshot.isPresent()) {
            RankSnapshot it = snapshot.get();
            for (long nanos : it.waitNanos()) {
                longest = Math.max(longest, nanos);
            }
            if (!it.status().waits().isEmpty()) {
                longest = Math.max(
                        longest, it.underWay().map(call -> call.nanos()).orElse(0L));
            }
        }
        return longest;
    }

    /** Returns true if the rank has waited for others for 20 ms; shorter waits are a normal part of operations. */
    boolean isHeldUp() {
        return waitedNanos() >= HELD_UP_NANOS;
    }

    /** Returns the operation that the rank is in, with its number; empty if there is none. */
    public Optional<String> call() {
        return snapshot.flatMap(RankSnapshot::underWay)
                .map(it -> it.call() + (it.sequence() == 0 ? "" : " sequence=" + LastEntered.text(it.sequence())));
    }

    /** Returns the number of the operation under way, see {@link LastEntered}; 0 if there is none. */
    long sequence() {
        return snapshot.flatMap(RankSnapshot::underWay)
                .map(call -> call.sequence())
                .orElse(0L);
    }

    /** Returns the rank's report in the form that the coordinator's rules use. */
    public RankStatus status() {
        return snapshot.orElseThrow().status();
    }
}
