package io.jccl.control;

import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Decides which ranks live and what has failed. Works for {@link CompleteGroup}, without sockets and without a clock:
 * callers pass the time. Reports at most one agreed failure. The methods are in the order of the table in
 * {@code docs/agreement.md}. For use by one thread.
 */
final class Coordinator {

    /** The messages of the coordinator to the ranks. */
    interface Output {

        /**
         * Asks a rank what it knows about an operation.
         *
         * @param withNetwork true if the rank also looks for connections that stall, which takes milliseconds
         */
        void query(int rank, long inquiry, long sequence, boolean withNetwork);

        /** Asks a rank for its position. */
        void ask(int rank);

        /** Tells a rank that asked to leave that it may close. */
        void finAck(int rank);

        /** Sends the agreed failure to all ranks; called once. */
        void failure(FailureReport agreed);
    }

    /** The maximum time that a leaving rank waits for the other ranks to report their operations. */
    static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final long heartbeatNanos;
    private final Output output;
    private final LivingRanks ranks;
    private final Positions positions;
    private final Inquiries inquiries;
    private long lastTick;
    private FailureReport agreed;

    Coordinator(int size, long queryNanos, long heartbeatNanos, long now, Output output) {
        this.heartbeatNanos = heartbeatNanos;
        this.output = output;
        this.lastTick = now;
        this.ranks = new LivingRanks(size, heartbeatNanos, now);
        this.positions = new Positions(size, LEAVE_NANOS);
        this.inquiries = new Inquiries(size, queryNanos, ranks, positions, output, this::decide);
    }

    /** Returns the ranks that have left in good order. */
    Set<Integer> departed() {
        return ranks.departed().keySet();
    }

    /** Returns the last known position of a rank. */
    Position position(int rank) {
        return positions.of(rank);
    }

    /** Returns the number of the last collective on a device that all ranks that are here have entered. */
    long enteredByAllOnDevice() {
        return positions.enteredByAllOnDevice();
    }

    /** Notes that a frame of a rank has arrived. */
    void heard(int rank, long now) {
        ranks.heard(rank, now);
    }

    /** Fails the communicator, because a gather waits for ranks that left in good order. */
    void gatherAwaits(SortedSet<Integer> gone) {
        decide(FailureReport.gone(
                FailureReport.Kind.DEPARTED,
                gone,
                0,
                "ranks " + gone + " closed their communicator while others wait for them in an exchange of the control"
                        + " plane; close it only when every rank has finished"));
    }

    /** Notes the position of a rank. Starts an inquiry if the position contradicts that of another rank. */
    void heartbeat(int rank, Position position, long now) {
        long difference = positions.note(rank, position);
        if (difference != 0) {
            report(rank, ReportKind.MISMATCH, difference, "ranks called different operations", now);
        }
        letGo(now);
    }

    /** Handles a rank's report that does not say how long the rank has waited. */
    void report(int rank, ReportKind kind, long sequence, String text, long now) {
        report(rank, kind, sequence, 0, text, now);
    }

    void report(int rank, ReportKind kind, long sequence, long waitedMillis, String text, long now) {
        if (agreed != null) {
            return;
        }
        switch (kind) {
            case STALLED, MISMATCH, TIMEOUT, TRANSPORT -> inquiries.report(
                    sequence, new Conclusion.Problem(rank, kind, waitedMillis, text), now);
            case ABORT -> decide(new FailureReport(
                    FailureReport.Kind.ABORTED, sequence, rank, new TreeSet<>(), new TreeSet<>(), List.of(), text));
            case GAVE_UP -> decide(FailureReport.gone(FailureReport.Kind.PEER_FAILED, Set.of(rank), sequence, text));
        }
    }

    /** Notes that a rank asks to leave in good order. */
    void fin(int rank, Position position, long now) {
        if (ranks.isDead(rank)) {
            output.finAck(rank); // the rank was silent, but its close() waits for an answer
        }
        if (ranks.isGone(rank)) {
            return;
        }
        heartbeat(rank, position, now);
        positions.leave(rank, now).forEach(output::ask);
        letGo(now);
    }

    private void letGo(long now) {
        if (!positions.isAnyLeaving() || inquiries.isMismatchExamined()) {
            return; // ranks that leave must also receive the failure that the mismatch leads to
        }
        for (int rank : positions.takeLeavers(now, agreed != null)) {
            left(rank, now);
            output.finAck(rank);
        }
    }

    /** Notes that a rank has left in good order. */
    private void left(int rank, long now) {
        if (!ranks.isGone(rank)) {
            ranks.leave(rank, positions.of(rank).lastEntered());
            positions.gone(rank);
            inquiries.left(rank, now);
        }
    }

    /** Notes that a rank's connection broke, or that the rank is silent. The rank is dead, unless it was leaving. */
    void lost(int rank, String why, long now) {
        if (ranks.isGone(rank) || agreed != null) {
            return;
        }
        if (positions.isLeaving(rank)) {
            left(rank, now);
        } else {
            ranks.die(rank, why, now);
            positions.gone(rank);
        }
    }

    /** Handles a rank's answer to an inquiry. */
    void status(int rank, long inquiry, RankStatus status, long now) {
        inquiries.status(rank, inquiry, status, now);
    }

    /**
     * Does everything that is due.
     *
     * @return nanoseconds until the next call is due
     */
    long tick(long now) {
        long gap = now - lastTick;
        lastTick = now;
        if (agreed != null) {
            return Long.MAX_VALUE;
        }
        if (gap > heartbeatNanos / 2) {
            ranks.excuse(gap); // this process itself was stopped, so the silence of the ranks proves nothing
        }
        for (int rank : ranks.silent(now)) {
            long millis = TimeUnit.NANOSECONDS.toMillis(ranks.silence(rank, now));
            lost(
                    rank,
                    "silent for " + millis + " ms, longer than the heartbeat time-out" + StalledConnections.hint(),
                    now);
        }
        if (ranks.next(now) <= 0) {
            decide(ranks.deaths());
        }
        inquiries.tick(now);
        letGo(now);
        return next(now);
    }

    private long next(long now) {
        long next = Math.min(heartbeatNanos / 4, Math.min(ranks.next(now), inquiries.next(now)));
        if (!inquiries.isMismatchExamined()) {
            next = Math.min(next, positions.next(now));
        }
        return Math.max(0, next);
    }

    private void decide(FailureReport decided) {
        if (agreed == null) {
            agreed = decided;
            inquiries.clear();
            output.failure(decided);
            letGo(lastTick);
        }
    }
}
