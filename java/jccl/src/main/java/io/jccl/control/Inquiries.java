package io.jccl.control;

import io.jccl.control.Conclusion.Problem;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The running inquiries of the {@link Coordinator}. An inquiry asks all ranks about one operation, and ends when all
 * have answered or its time is up. Callers pass the time. For use by one thread.
 */
final class Inquiries {

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
        Problem problem;
        boolean again; // true if a rank reported a problem after its answer
        boolean traced; // true if an inquiry about another operation found the mismatch that led to this inquiry
        // time at which this inquiry will be repeated, because ranks had not entered the operation; 0 if no repetition
        // is planned
        long askAgainAt;
        final SortedMap<Integer, RankStatus> answers = new TreeMap<>();
        final SortedSet<Integer> awaited = new TreeSet<>();

        Inquiry(long id, long sequence, long since, Problem problem) {
            this.id = id;
            this.sequence = sequence;
            this.since = since;
            this.problem = problem;
        }
    }

    private final int size;
    private final long queryNanos;
    private final LivingRanks ranks;
    private final Positions positions;
    private final Coordinator.Output output;
    private final Consumer<FailureReport> decide;
    private final Map<Long, Inquiry> running = new LinkedHashMap<>(); // by sequence number
    private long nextId = 1;

    /**
     * Creates the inquiries of a group.
     *
     * @param queryNanos the time after which ranks without an answer count as silent
     * @param positions the last known positions of ranks, which stand for the answers of ranks that have left
     * @param decide receives the failure that an inquiry has found, and then calls {@link #clear}
     */
    Inquiries(
            int size,
            long queryNanos,
            LivingRanks ranks,
            Positions positions,
            Coordinator.Output output,
            Consumer<FailureReport> decide) {
        this.size = size;
        this.queryNanos = queryNanos;
        this.ranks = ranks;
        this.positions = positions;
        this.output = output;
        this.decide = decide;
    }

    /** Returns true if an inquiry examines a mismatch. */
    boolean isMismatchExamined() {
        return !running.isEmpty()
                && running.values().stream().anyMatch(one -> one.problem.kind() == ReportKind.MISMATCH);
    }

    /** Examines a problem that a rank has reported about an operation. */
    void report(long sequence, Problem problem, long now) {
        Inquiry inquiry = running.get(sequence);
        if (inquiry == null) {
            ask(new Inquiry(nextId++, sequence, now, problem), now);
        } else if (inquiry.problem.kind() == ReportKind.STALLED && problem.kind() != ReportKind.STALLED) {
            inquiry.problem = problem;
        } else if (inquiry.answers.containsKey(problem.reporter())) {
            inquiry.again = true;
        }
    }

    private void ask(Inquiry inquiry, long now) {
        if (running.size() >= MAX_INQUIRIES) {
            Iterator<Inquiry> oldest = running.values().iterator();
            oldest.next();
            oldest.remove();
        }
        running.put(inquiry.sequence, inquiry);
        for (int rank = 0; rank < size; rank++) {
            if (ranks.departed().containsKey(rank)) {
                inquiry.answers.put(rank, departed(rank, inquiry.sequence));
            } else {
                inquiry.awaited.add(rank);
            }
        }
        ReportKind kind = inquiry.problem.kind();
        boolean withNetwork = kind == ReportKind.TIMEOUT || kind == ReportKind.TRANSPORT;
        for (int rank : List.copyOf(inquiry.awaited)) {
            output.query(rank, inquiry.id, inquiry.sequence, withNetwork);
        }
        concludeIfAnswered(inquiry, now);
    }

    private void askAgain(Inquiry inquiry, long since, long now) {
        Inquiry next = new Inquiry(nextId++, inquiry.sequence, since, inquiry.problem);
        next.traced = inquiry.traced;
        ask(next, now);
    }

    private RankStatus departed(int rank, long sequence) {
        return RankStatus.departed(rank, ranks.departed().get(rank))
                .with(positions.of(rank).trail(sequence));
    }

    /** Takes a rank's answer to an inquiry. */
    void status(int rank, long id, RankStatus status, long now) {
        for (Inquiry inquiry : running.values()) {
            if (inquiry.id == id) {
                answer(inquiry, rank, status, now);
                return;
            }
        }
    }

    /** Notes that a rank has left. Its last known operations are its answer to each inquiry. */
    void left(int rank, long now) {
        for (Inquiry inquiry : List.copyOf(running.values())) {
            answer(inquiry, rank, departed(rank, inquiry.sequence), now);
        }
    }

    private void answer(Inquiry inquiry, int rank, RankStatus status, long now) {
        if (inquiry.awaited.remove(rank)) {
            inquiry.answers.put(rank, status);
            concludeIfAnswered(inquiry, now);
        }
    }

    private void concludeIfAnswered(Inquiry inquiry, long now) {
        if (inquiry.awaited.isEmpty()) {
            conclude(inquiry, now);
        }
    }

    /** Repeats and concludes the inquiries for which it is time. */
    void tick(long now) {
        if (running.isEmpty()) { // the check avoids the copy, because a waiting group must allocate nothing
            return;
        }
        for (Inquiry inquiry : List.copyOf(running.values())) {
            if (!isRunning(inquiry)) {
                continue;
            }
            if (inquiry.askAgainAt != 0 && now - inquiry.askAgainAt >= 0) {
                askAgain(inquiry, inquiry.since, now);
            } else if (now - inquiry.since >= queryNanos) {
                conclude(inquiry, now);
            }
        }
    }

    /** Returns the nanoseconds until the next call of {@link #tick} is due; {@link Long#MAX_VALUE} if none is. */
    long next(long now) {
        long next = Long.MAX_VALUE;
        if (!running.isEmpty()) { // the check avoids the loop's iterator, because a waiting group must allocate nothing
            for (Inquiry inquiry : running.values()) {
                long due = inquiry.askAgainAt != 0 ? inquiry.askAgainAt : inquiry.since + queryNanos;
                next = Math.min(next, due - now);
            }
        }
        return next;
    }

    /** Ends all inquiries without a conclusion. */
    void clear() {
        running.clear();
    }

    private boolean isRunning(Inquiry inquiry) {
        return running.get(inquiry.sequence) == inquiry;
    }

    /** Ends an inquiry. The order of the cases is that of the table of conclusions in {@code docs/agreement.md}. */
    private void conclude(Inquiry inquiry, long now) {
        if (!isRunning(inquiry)) {
            return; // the conclusion of another inquiry has ended this one
        }
        running.remove(inquiry.sequence);
        if (ranks.isAnyDead()) {
            return; // the deaths explain the problem, and will be reported soon
        }
        for (int rank : inquiry.awaited) {
            inquiry.answers.put(rank, RankStatus.silent(rank));
        }
        List<RankStatus> rows = new ArrayList<>(inquiry.answers.values());
        Optional<Difference> difference = Difference.in(rows, inquiry.sequence);
        if (difference.isPresent() && difference.get().sequence() != inquiry.sequence && !inquiry.traced) {
            trace(inquiry, difference.get().sequence(), now);
        } else if (difference.isPresent() && mayStillEnter(rows, inquiry, now)) {
            inquiry.askAgainAt = now + ASK_AGAIN_NANOS;
            running.put(inquiry.sequence, inquiry);
            return;
        } else {
            Optional<FailureReport> failure = new Conclusion(
                            inquiry.problem,
                            inquiry.sequence,
                            rows,
                            ranks.departed().keySet())
                    .failure(difference);
            if (failure.isPresent()) {
                decide.accept(failure.get());
                return;
            }
        }
        if (inquiry.again) {
            askAgain(inquiry, now, now);
        }
    }

    /**
     * Inquires about the first operation in which the ranks differ, so that the failure names that operation, not the
     * operation of the inquiry {@code from}. If an inquiry about the first operation already runs, makes it an inquiry
     * about a mismatch.
     */
    private void trace(Inquiry from, long sequence, long now) {
        Inquiry inquiry = running.get(sequence);
        if (inquiry == null) {
            inquiry = new Inquiry(nextId++, sequence, now, from.problem.asMismatch());
            inquiry.traced = true;
            ask(inquiry, now);
        } else {
            inquiry.problem = inquiry.problem.asMismatch();
            inquiry.traced = true;
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
}
