package io.jccl.control;

import io.jccl.wire.LastEntered;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Keeps which ranks of a group live, which have left in good order, and which count as dead. Callers pass the time. For
 * use by one thread.
 */
final class LivingRanks {

    /** Deaths within this time count as one failure, so that a lost host leads to one report. */
    static final long GATHER_DEATHS_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final int[] NONE = {};

    private final long heartbeatNanos;
    private final long[] heardAt;
    // by rank: its last entered operations when it left
    private final SortedMap<Integer, LastEntered> departed = new TreeMap<>();
    private final SortedMap<Integer, String> dead = new TreeMap<>(); // by rank: the reason why it counts as dead
    private long deadSince;
    private long silentDue; // before this time no rank can have been silent for the heartbeat time-out

    LivingRanks(int size, long heartbeatNanos, long now) {
        this.heartbeatNanos = heartbeatNanos;
        this.silentDue = now + heartbeatNanos;
        this.heardAt = new long[size];
        Arrays.fill(heardAt, now);
    }

    /** Returns true if a rank has left or counts as dead. */
    boolean isGone(int rank) {
        return departed.containsKey(rank) || isDead(rank);
    }

    boolean isDead(int rank) {
        return dead.containsKey(rank);
    }

    boolean isAnyDead() {
        return !dead.isEmpty();
    }

    /** Returns the ranks that have left, with the last operations that they entered. */
    SortedMap<Integer, LastEntered> departed() {
        return departed;
    }

    void leave(int rank, LastEntered lastEntered) {
        departed.put(rank, lastEntered);
    }

    void die(int rank, String why, long now) {
        if (dead.isEmpty()) {
            deadSince = now;
        }
        dead.put(rank, why);
    }

    void heard(int rank, long now) {
        heardAt[rank] = now;
    }

    /** Does not count {@code gap} as silence of the ranks, because this process itself was stopped for that time. */
    void excuse(long gap) {
        for (int rank = 0; rank < heardAt.length; rank++) {
            heardAt[rank] += gap;
        }
    }

    long silence(int rank, long now) {
        return now - heardAt[rank];
    }

    /**
     * Returns the ranks that have been silent for the heartbeat time-out. The caller must count them as gone. Checks no
     * rank before {@code silentDue}: a tick follows every frame, so checking every rank in every tick would take time
     * in proportion to the square of the number of ranks. Allocates nothing if no rank is silent.
     */
    int[] silent(long now) {
        if (now - silentDue < 0) {
            return NONE;
        }
        int[] silent = NONE;
        long longest = 0;
        for (int rank = 0; rank < heardAt.length; rank++) {
            if (isGone(rank)) {
                continue;
            }
            if (silence(rank, now) >= heartbeatNanos) {
                silent = Arrays.copyOf(silent, silent.length + 1);
                silent[silent.length - 1] = rank;
            } else {
                longest = Math.max(longest, silence(rank, now));
            }
        }
        silentDue = now + heartbeatNanos - longest;
        return silent;
    }

    /** Returns the nanoseconds until the deaths must be reported; {@link Long#MAX_VALUE} if there are none. */
    long next(long now) {
        return dead.isEmpty() ? Long.MAX_VALUE : deathsDue(now) - now;
    }

    /**
     * Returns the time at which the deaths so far must be reported. One report should name all ranks that a common
     * cause has ended, but the last heartbeats of these ranks came at different times. So if all dead ranks were silent
     * for the heartbeat time-out, the report waits for ranks that have been silent for half of it, until their
     * time-outs end.
     */
    private long deathsDue(long now) {
        long due = deadSince + GATHER_DEATHS_NANOS;
        if (dead.keySet().stream().allMatch(rank -> silence(rank, now) >= heartbeatNanos)) {
            for (int rank = 0; rank < heardAt.length; rank++) {
                if (!isGone(rank) && silence(rank, now) >= heartbeatNanos / 2) {
                    due = Math.max(due, heardAt[rank] + heartbeatNanos);
                }
            }
        }
        return due;
    }

    /** Returns the failure that names all dead ranks. */
    FailureReport deaths() {
        StringBuilder text = new StringBuilder();
        dead.forEach((rank, why) -> text.append(text.isEmpty() ? "" : "; ")
                .append("rank ")
                .append(rank)
                .append(" failed: ")
                .append(why));
        return FailureReport.gone(FailureReport.Kind.PEER_FAILED, dead.keySet(), 0, text.toString());
    }
}
