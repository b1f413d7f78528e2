package io.jccl.bootstrap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Who lives, who left, and what is wrong: the judgement of the {@link Hub}, without sockets and with the time passed in.
 * Gives one verdict at most. For one thread.
 */
final class Coordinator {

    /** What the coordinator wants done. */
    interface Output {

        /** Asks a rank what it knows about an operation. */
        void query(int rank, long inquiry, long sequence);

        /** Tells all ranks; called once. */
        void verdict(Verdict verdict);
    }

    /** Deaths within this time are told together, so that a lost machine is one verdict. */
    static final long GATHER_DEATHS_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final int MAX_INQUIRIES = 64;

    private static final class Inquiry {
        final long id;
        final long sequence;
        final long since;
        ReportKind kind;
        int reporter;
        String text;
        boolean again;
        final SortedMap<Integer, RankStatus> answers = new TreeMap<>();
        final SortedSet<Integer> awaited = new TreeSet<>();

        Inquiry(long id, long sequence, long since, ReportKind kind, int reporter, String text) {
            this.id = id;
            this.sequence = sequence;
            this.since = since;
            this.kind = kind;
            this.reporter = reporter;
            this.text = text;
        }
    }

    private final int size;
    private final long queryNanos;
    private final long heartbeatNanos;
    private final Output output;
    private final long[] heardAt;
    private final SortedMap<Integer, LastEntered> departed = new TreeMap<>(); // rank to its last operation
    private final SortedMap<Integer, String> dead = new TreeMap<>(); // rank to why
    private final Map<Long, Inquiry> inquiries = new LinkedHashMap<>(); // by sequence
    private long deadSince;
    private long lastTick;
    private long nextInquiry = 1;
    private Verdict verdict;

    Coordinator(int size, long queryNanos, long heartbeatNanos, long now, Output output) {
        this.size = size;
        this.queryNanos = queryNanos;
        this.heartbeatNanos = heartbeatNanos;
        this.output = output;
        this.lastTick = now;
        this.heardAt = new long[size];
        Arrays.fill(heardAt, now);
    }

    Verdict verdict() {
        return verdict;
    }

    SortedMap<Integer, LastEntered> departed() {
        return departed;
    }

    private boolean gone(int rank) {
        return departed.containsKey(rank) || dead.containsKey(rank);
    }

    /** A rank said something, whatever it was. */
    void heard(int rank, long now) {
        heardAt[rank] = now;
    }

    /** A rank's connection broke without a goodbye. */
    void lost(int rank, String why, long now) {
        if (gone(rank) || verdict != null) {
            return;
        }
        if (dead.isEmpty()) {
            deadSince = now;
        }
        dead.put(rank, why);
    }

    /** A rank leaves in good order after its last operation. */
    void goodbye(int rank, LastEntered lastEntered, long now) {
        if (gone(rank)) {
            return;
        }
        departed.put(rank, lastEntered);
        for (Inquiry inquiry : List.copyOf(inquiries.values())) {
            if (inquiry.awaited.remove(rank)) {
                inquiry.answers.put(rank, RankStatus.departed(rank, lastEntered));
                concludeIfAnswered(inquiry, now);
            }
        }
    }

    /** Somebody needs ranks that left in good order. */
    void needed(SortedSet<Integer> ranks, String forWhat) {
        decide(Verdict.gone(
                Verdict.Kind.DEPARTED,
                ranks,
                0,
                "ranks " + ranks
                        + " closed their communicator while others wait for them in " + forWhat
                        + "; close it only when every rank has finished"));
    }

    void report(int rank, ReportKind kind, long sequence, String text, long now) {
        if (verdict != null) {
            return;
        }
        if (kind == ReportKind.ABORT) {
            decide(new Verdict(
                    Verdict.Kind.ABORTED, sequence, rank, new TreeSet<>(), new TreeSet<>(), List.of(), text));
            return;
        }
        Inquiry running = inquiries.get(sequence);
        if (running == null) {
            inquire(rank, kind, sequence, text, now);
        } else if (running.kind == ReportKind.STALLED && kind != ReportKind.STALLED) {
            running.kind = kind;
            running.reporter = rank;
            running.text = text;
        } else if (running.answers.containsKey(rank)) {
            running.again = true; // its answer was from before what it reports now
        }
    }

    private void inquire(int reporter, ReportKind kind, long sequence, String text, long now) {
        if (inquiries.size() >= MAX_INQUIRIES) {
            Iterator<Inquiry> oldest = inquiries.values().iterator();
            oldest.next();
            oldest.remove();
        }
        Inquiry inquiry = new Inquiry(nextInquiry++, sequence, now, kind, reporter, text);
        inquiries.put(sequence, inquiry);
        for (int rank = 0; rank < size; rank++) {
            if (departed.containsKey(rank)) {
                inquiry.answers.put(rank, RankStatus.departed(rank, departed.get(rank)));
            } else {
                inquiry.awaited.add(rank);
            }
        }
        for (int rank : List.copyOf(inquiry.awaited)) {
            output.query(rank, inquiry.id, sequence);
        }
        concludeIfAnswered(inquiry, now);
    }

    /** A rank's answer. */
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
        if (verdict != null || !dead.isEmpty()) {
            return; // the deaths explain it, and are told in a moment
        }
        judge(inquiry);
        if (verdict == null && inquiry.again) {
            inquire(inquiry.reporter, inquiry.kind, inquiry.sequence, inquiry.text, now);
        }
    }

    private void judge(Inquiry inquiry) {
        List<RankStatus> rows = new ArrayList<>(inquiry.answers.values());
        SortedSet<Integer> missing = missing(rows, inquiry.sequence);
        SortedSet<Integer> left = new TreeSet<>();
        for (RankStatus row : rows) {
            if (row.state() == RankStatus.State.DEPARTED && row.missed(inquiry.sequence)) {
                left.add(row.rank());
            }
        }
        long fingerprints = rows.stream()
                .flatMap(row -> row.operation().stream())
                .mapToLong(OperationRecord::fingerprint)
                .filter(fingerprint -> fingerprint != 0)
                .distinct()
                .count();
        if (fingerprints > 1 || inquiry.kind == ReportKind.MISMATCH) {
            String text = fingerprints > 1
                    ? "ranks called different operations at sequence=" + LastEntered.text(inquiry.sequence)
                            + "; make every rank call the same collective with the same type, op, count and root"
                    : inquiry.text;
            decide(verdict(Verdict.Kind.MISMATCH, inquiry, new TreeSet<>(), missing, rows, text));
        } else if (!left.isEmpty() && inquiry.kind != ReportKind.TRANSPORT) {
            String text = "ranks " + left + " closed their communicator before sequence="
                    + LastEntered.text(inquiry.sequence)
                    + ", in which others wait for them; close it only when every rank has finished";
            decide(verdict(Verdict.Kind.DEPARTED, inquiry, left, missing, rows, text));
        } else if (inquiry.kind == ReportKind.TIMEOUT) {
            decide(verdict(Verdict.Kind.TIMEOUT, inquiry, new TreeSet<>(), missing, rows, inquiry.text));
        } else if (inquiry.kind == ReportKind.TRANSPORT) {
            SortedSet<Integer> silent = new TreeSet<>();
            rows.stream().filter(row -> row.state() == RankStatus.State.SILENT).forEach(row -> silent.add(row.rank()));
            // Who neither answers nor has a connection that works is lost, if not known so by a heartbeat yet.
            Verdict.Kind kind = silent.isEmpty() ? Verdict.Kind.TRANSPORT : Verdict.Kind.PEER_FAILED;
            decide(verdict(kind, inquiry, silent, missing, rows, inquiry.text));
        }
    }

    /**
     * Who keeps the others waiting. Ranks may be an operation apart: one that is late because it waits for a peer itself
     * is no more to blame than those who wait for it, unless all late ones wait.
     */
    private static SortedSet<Integer> missing(List<RankStatus> rows, long sequence) {
        List<RankStatus> late =
                rows.stream().filter(row -> row.missed(sequence)).toList();
        List<RankStatus> idle =
                late.stream().filter(row -> row.waits().isEmpty()).toList();
        return (idle.isEmpty() ? late : idle)
                .stream().map(RankStatus::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Verdict verdict(
            Verdict.Kind kind,
            Inquiry inquiry,
            SortedSet<Integer> failed,
            SortedSet<Integer> missing,
            List<RankStatus> rows,
            String text) {
        return new Verdict(kind, inquiry.sequence, inquiry.reporter, failed, missing, rows, text);
    }

    private void decide(Verdict decided) {
        if (verdict == null) {
            verdict = decided;
            inquiries.clear();
            output.verdict(decided);
        }
    }

    /**
     * Does what the time asks for.
     *
     * @return in how many nanoseconds it wants to be called again
     */
    long tick(long now) {
        long gap = now - lastTick;
        lastTick = now;
        if (verdict != null) {
            return Long.MAX_VALUE;
        }
        if (gap > heartbeatNanos / 2) {
            for (int rank = 0; rank < size; rank++) {
                heardAt[rank] += gap; // it was this process that stood still
            }
        }
        loseTheSilent(now);
        if (!dead.isEmpty() && now - deadSince >= GATHER_DEATHS_NANOS) {
            tellDeaths();
        }
        for (Inquiry inquiry : List.copyOf(inquiries.values())) {
            if (now - inquiry.since >= queryNanos && verdict == null) {
                conclude(inquiry, now);
            }
        }
        return next(now);
    }

    private void loseTheSilent(long now) {
        for (int rank = 0; rank < size; rank++) {
            if (!gone(rank) && now - heardAt[rank] >= heartbeatNanos) {
                lost(
                        rank,
                        "silent for " + TimeUnit.NANOSECONDS.toMillis(now - heardAt[rank])
                                + " ms, longer than the heartbeat time-out",
                        now);
            }
        }
    }

    private void tellDeaths() {
        StringBuilder text = new StringBuilder();
        dead.forEach((rank, why) -> text.append(text.isEmpty() ? "" : "; ")
                .append("rank ")
                .append(rank)
                .append(" failed: ")
                .append(why));
        decide(Verdict.gone(Verdict.Kind.PEER_FAILED, dead.keySet(), 0, text.toString()));
    }

    private long next(long now) {
        long next = heartbeatNanos / 4;
        if (!dead.isEmpty()) {
            next = Math.min(next, deadSince + GATHER_DEATHS_NANOS - now);
        }
        for (Inquiry inquiry : inquiries.values()) {
            next = Math.min(next, inquiry.since + queryNanos - now);
        }
        return Math.max(0, next);
    }
}
