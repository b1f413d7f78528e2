package io.jccl.cli.ps;

import io.jccl.bootstrap.RankStatus;
import io.jccl.status.Absentee;
import io.jccl.status.RankSnapshot;
import java.util.Optional;

/**
 * One rank of a communicator as it was seen.
 *
 * @param rank the rank
 * @param host the name of its host, or its id where the name is not known
 * @param pid the process id, -1 if it is not known
 * @param snapshot what it says; empty if it says nothing
 * @param absentee why it says nothing; empty also where nothing at all is known of it
 */
record RankView(int rank, String host, long pid, Optional<RankSnapshot> snapshot, Optional<Absentee> absentee) {

    /** Whether it is in a phase. */
    boolean is(RankSnapshot.Phase phase) {
        return snapshot.filter(it -> it.phase() == phase).isPresent();
    }

    /** For how long it has waited for others: in its operation, or where a channel stands still; 0 if it does not wait. */
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

    /** The number of the operation under way, see {@link io.jccl.bootstrap.LastEntered}; 0 if it has none. */
    long sequence() {
        return snapshot.flatMap(RankSnapshot::underWay)
                .map(call -> call.sequence())
                .orElse(0L);
    }

    /** What it reports, for the rules that the coordinator has. */
    RankStatus status() {
        return snapshot.orElseThrow().status();
    }
}
