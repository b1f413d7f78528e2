package io.jccl.control;

import io.jccl.ChannelWait;
import io.jccl.RankOperation;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Decides which ranks live and what has failed. Works for the {@link CoordinatorServer}, without sockets and without a
 * clock: callers pass the time. Reports at most one agreed failure. For use by one thread.
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
        void left(int rank);

        /** Sends the agreed failure to all ranks; called once. */
        void failure(FailureReport agreed);
    }

    /** Deaths within this time count as one failure, so that a lost host leads to one report. */
    static final long GATHER_DEATHS_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** The maximum time that a leaving rank waits for the other ranks to report their operations. */
    static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * The time for which the report of a mismatch waits for ranks that have not entered the operation. The calls of
     * these ranks show which of the other ranks differ.
     */
    static final long ENTER_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MAX_INQUIRIES = 64;

    private static final class Inquiry {
        final long id;
        final long sequence;
        final long since;
        ReportKind kind;
        int reporter;
        long waitedMillis; // 0 if the time is not known
        String text;
        boolean again;
        boolean traced; // true if an inquiry about another operation found the mismatch that led to this inquiry
        // time at which this inquiry will be repeated, because ranks had not entered the operation; 0 if no repetition
        // is planned
        long askAgainAt;
        final SortedMap<Integer, RankStatus> answers = new TreeMap<>();
        final SortedSet<Integer> awaited = new TreeSet<>();

        Inquiry(long id, long sequence, long since, ReportKind kind, int reporter, long waitedMillis, String text) {
            this.id = id;
            this.sequence = sequence;
            this.since = since;
            this.kind = kind;
            this.reporter = reporter;
            this.waitedMillis = waitedMillis;
            this.text = text;
        }

        /** Returns a new inquiry with the same question. */
        Inquiry repeated(long newId, long start) {
            Inquiry next = new Inquiry(newId, sequence, start, kind, reporter, waitedMillis, text);
            next.traced = traced;
            return next;
        }
    }

    private final int size;
    private final long queryNanos;
    private final long heartbeatNanos;
    private final Output output;
    private final long[] heardAt;
    // by rank: its last entered operations when it left
    private final SortedMap<Integer, LastEntered> departed = new TreeMap<>();
    private final SortedMap<Integer, String> dead = new TreeMap<>(); // by rank: the reason why it counts as dead
    private final Positions positions;
    private final Map<Long, Inquiry> inquiries = new LinkedHashMap<>(); // by sequence number
    private long deadSince;
    private long lastTick;
    private long silentDue; // before this time no rank can have been silent for the heartbeat time-out
    private long nextInquiry = 1;
    private FailureReport agreed;

    Coordinator(int size, long queryNanos, long heartbeatNanos, long now, Output output) {
        this.size = size;
        this.queryNanos = queryNanos;
        this.heartbeatNanos = heartbeatNanos;
        this.output = output;
        this.lastTick = now;
        this.silentDue = now + heartbeatNanos;
        this.positions = new Positions(size, LEAVE_NANOS);
        this.heardAt = new long[size];
        Arrays.fill(heardAt, now);
    }

    FailureReport agreedFailure() {
        return agreed;
    }

    SortedMap<Integer, LastEntered> departed() {
        return departed;
    }

    private boolean gone(int rank) {
        return departed.containsKey(rank) || dead.containsKey(rank);
    }

    /** Notes that a frame of a rank has arrived. */
    void heard(int rank, long now) {
        heardAt[rank] = now;
    }

    /** Notes that a rank's connection broke without a FIN. */
    void lost(int rank, String why, long now) {
        if (gone(rank) || agreed != null) {
            return;
        }
        if (positions.isLeaving(rank)) {
            fin(rank, positions.of(rank).lastEntered(), now);
            return;
        }
        if (dead.isEmpty()) {
            deadSince = now;
        }
        dead.put(rank, why);
        positions.gone(rank);
    }

    /** Returns the last known position of a rank. */
    Position position(int rank) {
        return positions.of(rank);
    }

    /** Notes the position of a rank. Starts an inquiry if the position contradicts that of another rank. */
    void at(int rank, Position position, long now) {
        long difference = positions.note(rank, position);
        if (difference != 0) {
            report(rank, ReportKind.MISMATCH, difference, 0, "ranks called different operations", now);
        }
        letGo(now);
    }

    /** Notes that a rank asks to leave in good order. */
    void leaving(int rank, Position position, long now) {
        if (gone(rank)) {
            return;
        }
        at(rank, position, now);
        positions.leave(rank, now).forEach(output::ask);
        letGo(now);
    }

    private void letGo(long now) {
        if (!positions.isAnyLeaving() || mismatched()) {
            return; // ranks that leave must also receive the failure that the mismatch leads to
        }
        for (int rank : positions.takeLeavers(now, agreed != null)) {
            fin(rank, positions.of(rank).lastEntered(), now);
            output.left(rank);
        }
    }

    private boolean mismatched() {
        return !inquiries.isEmpty() && inquiries.values().stream().anyMatch(one -> one.kind == ReportKind.MISMATCH);
    }

    /** Notes that a rank has left in good order. {@code lastEntered} are the last operations that the rank entered. */
    void fin(int rank, LastEntered lastEntered, long now) {
        if (gone(rank)) {
            return;
        }
        departed.put(rank, lastEntered);
        positions.gone(rank);
        for (Inquiry inquiry : List.copyOf(inquiries.values())) {
            if (inquiry.awaited.remove(rank)) {
                inquiry.answers.put(rank, departed(rank, inquiry.sequence));
                concludeIfAnswered(inquiry, now);
            }
        }
    }

    /** Fails the communicator, because other ranks still need ranks that left in good order. */
    void needed(SortedSet<Integer> ranks, String forWhat) {
        decide(FailureReport.gone(
                FailureReport.Kind.DEPARTED,
                ranks,
                0,
                "ranks " + ranks
                        + " closed their communicator while others wait for them in " + forWhat
                        + "; close it only when every rank has finished"));
    }

    /** Handles a rank's report that does not say how long the rank has waited. */
    void report(int rank, ReportKind kind, long sequence, String text, long now) {
        report(rank, kind, sequence, 0, text, now);
    }

    void report(int rank, ReportKind kind, long sequence, long waitedMillis, String text, long now) {
        if (agreed != null) {
            return;
        }
        if (kind == ReportKind.GAVE_UP) {
            decide(FailureReport.gone(FailureReport.Kind.PEER_FAILED, Set.of(rank), sequence, text));
            return;
        }
        if (kind == ReportKind.ABORT) {
            decide(new FailureReport(
                    FailureReport.Kind.ABORTED, sequence, rank, new TreeSet<>(), new TreeSet<>(), List.of(), text));
            return;
        }
        Inquiry running = inquiries.get(sequence);
        if (running == null) {
            inquire(new Inquiry(nextInquiry++, sequence, now, kind, rank, waitedMillis, text), now);
        } else if (running.kind == ReportKind.STALLED && kind != ReportKind.STALLED) {
            running.kind = kind;
            running.reporter = rank;
            running.waitedMillis = waitedMillis;
            running.text = text;
        } else if (running.answers.containsKey(rank)) {
            // the rank answered before it noticed the problem that it reports now, so the inquiry is repeated
            running.again = true;
        }
    }

    private void inquire(Inquiry inquiry, long now) {
        if (inquiries.size() >= MAX_INQUIRIES) {
            Iterator<Inquiry> oldest = inquiries.values().iterator();
            oldest.next();
            oldest.remove();
        }
        inquiries.put(inquiry.sequence, inquiry);
        for (int rank = 0; rank < size; rank++) {
            if (departed.containsKey(rank)) {
                inquiry.answers.put(rank, departed(rank, inquiry.sequence));
            } else {
                inquiry.awaited.add(rank);
            }
        }
        boolean withNetwork = inquiry.kind == ReportKind.TIMEOUT || inquiry.kind == ReportKind.TRANSPORT;
        for (int rank : List.copyOf(inquiry.awaited)) {
            output.query(rank, inquiry.id, inquiry.sequence, withNetwork);
        }
        concludeIfAnswered(inquiry, now);
    }

    /** Handles a rank's answer to an inquiry. */
    void status(int rank, long id, RankStatus status, long now) {
        for (Inquiry inquiry : inquiries.values()) {
            if (inquiry.id == id && inquiry.awaited.remove(rank)) {
                inquiry.answers.put(rank, status);
                concludeIfAnswered(inquiry, now);
                return;
            }
        }
    }

    private void concludeIfAnswered(Inquiry inquiry, long now) {
        if (inquiry.awaited.isEmpty()) {
            conclude(inquiry, now);
        }
    }

    private void conclude(Inquiry inquiry, long now) {
        inquiries.remove(inquiry.sequence);
        for (int rank : inquiry.awaited) {
            inquiry.answers.put(rank, RankStatus.silent(rank));
        }
        if (agreed != null || !dead.isEmpty()) {
            return; // the deaths explain the problem, and will be reported soon
        }
        evaluate(inquiry, now);
        if (agreed == null && inquiry.again && !inquiries.containsKey(inquiry.sequence)) {
            inquire(inquiry.repeated(nextInquiry++, now), now);
        }
    }

    private RankStatus departed(int rank, long sequence) {
        return RankStatus.departed(rank, departed.get(rank))
                .with(positions.of(rank).trail(sequence));
    }

    private void evaluate(Inquiry inquiry, long now) {
        List<RankStatus> rows = new ArrayList<>(inquiry.answers.values());
        Optional<Difference> difference = Difference.in(rows, inquiry.sequence);
        if (difference.isPresent() && difference.get().sequence() != inquiry.sequence && !inquiry.traced) {
            trace(inquiry, difference.get().sequence(), now);
            return;
        }
        if (difference.isPresent() && mayStillEnter(rows, inquiry, now)) {
            inquiry.askAgainAt = now + ASK_AGAIN_NANOS;
            inquiries.put(inquiry.sequence, inquiry);
            return;
        }
        SortedSet<Integer> missing = RankStatus.missing(rows, inquiry.sequence);
        SortedSet<Integer> left = new TreeSet<>();
        for (RankStatus row : rows) {
            if (row.state() == RankStatus.State.DEPARTED && row.missed(inquiry.sequence)) {
                left.add(row.rank());
            }
            // Point-to-point transfers have no sequence number by which to tell whether a rank has left too early. But
            // a wait for a rank that has left never ends.
            row.waits().stream()
                    .map(ChannelWait::peer)
                    .filter(departed::containsKey)
                    .forEach(left::add);
        }
        if (difference.isPresent() || inquiry.kind == ReportKind.MISMATCH) {
            String text = difference.map(it -> it.describe(rows)).orElse(inquiry.text);
            decide(failure(FailureReport.Kind.MISMATCH, inquiry, new TreeSet<>(), missing, rows, text));
        } else if (!left.isEmpty() && inquiry.kind != ReportKind.TRANSPORT) {
            String text = "ranks " + left + " closed their communicator before sequence="
                    + LastEntered.text(inquiry.sequence)
                    + ", in which others wait for them; close it only when every rank has finished";
            decide(failure(FailureReport.Kind.DEPARTED, inquiry, left, missing, rows, text));
        } else if (inquiry.kind == ReportKind.TIMEOUT) {
            String text = lateness(inquiry, missing).orElse(inquiry.text);
            decide(failure(FailureReport.Kind.TIMEOUT, inquiry, new TreeSet<>(), missing, rows, text));
        } else if (inquiry.kind == ReportKind.TRANSPORT) {
            SortedSet<Integer> silent = new TreeSet<>();
            rows.stream().filter(row -> row.state() == RankStatus.State.SILENT).forEach(row -> silent.add(row.rank()));
            // After a failed data connection, a rank that does not answer is lost, even if it has not been silent for
            // the heartbeat time-out.
            FailureReport.Kind kind = silent.isEmpty() ? FailureReport.Kind.TRANSPORT : FailureReport.Kind.PEER_FAILED;
            decide(failure(kind, inquiry, silent, missing, rows, inquiry.text));
        }
    }

    /**
     * Inquires about the first operation in which the ranks differ, so that the failure names that operation, not the
     * operation of the inquiry {@code from}. If an inquiry about the first operation already runs, makes it an inquiry
     * about a mismatch.
     */
    private void trace(Inquiry from, long sequence, long now) {
        Inquiry running = inquiries.get(sequence);
        if (running == null) {
            running = new Inquiry(nextInquiry++, sequence, now, ReportKind.MISMATCH, from.reporter, 0, from.text);
            running.traced = true;
            inquire(running, now);
        } else {
            running.kind = ReportKind.MISMATCH;
            running.traced = true;
        }
    }

    /**
     * Returns true if ranks that have not entered an operation may enter it soon. Their calls then show which of the
     * other ranks differ.
     */
    private static boolean mayStillEnter(List<RankStatus> rows, Inquiry inquiry, long now) {
        return now - inquiry.since < ENTER_NANOS
                && rows.stream()
                        .anyMatch(row -> row.state() == RankStatus.State.ANSWERED && row.missed(inquiry.sequence));
    }

    /**
     * Returns a text that names the missing ranks, if the rank that reported the problem waits in the inquiry's
     * operation; else empty.
     */
    private Optional<String> lateness(Inquiry inquiry, SortedSet<Integer> missing) {
        RankStatus reporter = inquiry.answers.get(inquiry.reporter);
        Optional<RankOperation> waiting = Optional.ofNullable(reporter)
                .flatMap(RankStatus::operation)
                .map(OperationRecord::operation)
                .filter(operation -> operation.state() != RankOperation.State.DONE);
        if (missing.isEmpty() || waiting.isEmpty()) {
            return Optional.empty();
        }
        String time = inquiry.waitedMillis == 0 ? "" : RankList.duration(inquiry.waitedMillis);
        return Optional.of(RankList.late(missing, size, waiting.get().call(), time)
                + "; look into the logs of those that are missing, or raise JCCL_TIMEOUT");
    }

    private static FailureReport failure(
            FailureReport.Kind kind,
            Inquiry inquiry,
            SortedSet<Integer> failed,
            SortedSet<Integer> missing,
            List<RankStatus> rows,
            String text) {
        List<RankStatus> withoutTrails =
                rows.stream().map(row -> row.with(Trail.NONE)).toList();
        return new FailureReport(kind, inquiry.sequence, inquiry.reporter, failed, missing, withoutTrails, text);
    }

    private void decide(FailureReport decided) {
        if (agreed == null) {
            agreed = decided;
            inquiries.clear();
            output.failure(decided);
            letGo(lastTick);
        }
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
            for (int rank = 0; rank < size; rank++) {
                heardAt[rank] += gap; // this process itself was stopped, so the silence of the ranks proves nothing
            }
        }
        loseTheSilent(now);
        if (!dead.isEmpty() && now - deathsDue(now) >= 0) {
            reportDeaths();
        }
        if (!inquiries.isEmpty()) {
            tickInquiries(now);
        }
        letGo(now);
        return next(now);
    }

    private void tickInquiries(long now) {
        for (Inquiry inquiry : List.copyOf(inquiries.values())) {
            if (agreed != null) {
                break;
            }
            if (inquiry.askAgainAt != 0 && now - inquiry.askAgainAt >= 0) {
                inquire(inquiry.repeated(nextInquiry++, inquiry.since), now);
            } else if (now - inquiry.since >= queryNanos) {
                conclude(inquiry, now);
            }
        }
    }

    /**
     * Treats each rank that has been silent for the heartbeat time-out as lost. Checks no rank before
     * {@code silentDue}: a tick follows every frame, so checking every rank in every tick would take time in proportion
     * to the square of the number of ranks.
     */
    private void loseTheSilent(long now) {
        if (now - silentDue < 0) {
            return;
        }
        long longest = 0;
        for (int rank = 0; rank < size; rank++) {
            long silent = now - heardAt[rank];
            if (!gone(rank) && silent >= heartbeatNanos) {
                lost(
                        rank,
                        "silent for " + TimeUnit.NANOSECONDS.toMillis(silent)
                                + " ms, longer than the heartbeat time-out" + StalledConnections.hint(),
                        now);
            } else if (!gone(rank)) {
                longest = Math.max(longest, silent);
            }
        }
        silentDue = now + heartbeatNanos - longest;
    }

    /**
     * Returns the time at which the deaths so far must be reported. One report should name all ranks that a common
     * cause has ended, but the last heartbeats of these ranks came at different times. So if all dead ranks were silent
     * for the heartbeat time-out, the report waits for ranks that have been silent for half of it, until their
     * time-outs end.
     */
    private long deathsDue(long now) {
        long due = deadSince + GATHER_DEATHS_NANOS;
        if (dead.keySet().stream().allMatch(rank -> now - heardAt[rank] >= heartbeatNanos)) {
            for (int rank = 0; rank < size; rank++) {
                if (!gone(rank) && now - heardAt[rank] >= heartbeatNanos / 2) {
                    due = Math.max(due, heardAt[rank] + heartbeatNanos);
                }
            }
        }
        return due;
    }

    private void reportDeaths() {
        StringBuilder text = new StringBuilder();
        dead.forEach((rank, why) -> text.append(text.isEmpty() ? "" : "; ")
                .append("rank ")
                .append(rank)
                .append(" failed: ")
                .append(why));
        decide(FailureReport.gone(FailureReport.Kind.PEER_FAILED, dead.keySet(), 0, text.toString()));
    }

    private long next(long now) {
        long next = heartbeatNanos / 4;
        if (!dead.isEmpty()) {
            next = Math.min(next, deathsDue(now) - now);
        }
        if (!inquiries.isEmpty()) { // the check avoids the loop's iterator, which would allocate
            for (Inquiry inquiry : inquiries.values()) {
                long due = inquiry.askAgainAt != 0 ? inquiry.askAgainAt : inquiry.since + queryNanos;
                next = Math.min(next, due - now);
            }
        }
        if (!mismatched()) {
            next = Math.min(next, positions.next(now));
        }
        return Math.max(0, next);
    }
}
