package io.jccl.diagnosis;

import io.jccl.ChannelWait;
import io.jccl.control.Difference;
import io.jccl.control.RankStatus;
import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.status.Absentee;
import io.jccl.status.CommunicatorView.UnderWay;
import io.jccl.status.RankSnapshot;
import io.jccl.status.RankSnapshot.Phase;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the ranks that hold a communicator up, by the rules of the coordinator ({@link RankStatus#missing},
 * {@link Difference}). One sample shows which ranks are late; several distinguish a slow rank from an absent one.
 */
public final class Diagnosis {

    /** Shorter waits are a normal part of operations. */
    static final long NOTED_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** If others have waited this long for a rank, the rank is absent; no further samples are needed. */
    private static final long CLEAR_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final int MAX_FAILURE_CHARS = 300;

    /**
     * A slow rank counts as absent after the longer of two times: this one, and {@link #USUAL_TIMES} times its average
     * time between two operations.
     */
    private static final long USUAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int USUAL_TIMES = 3;

    /**
     * Limit on the number of samples. If ranks have recorded no times, only further samples show whether a rank is late
     * again.
     */
    private static final int MAX_SAMPLES = 16;

    private final List<CommunicatorSample> samples;
    private final CommunicatorSample now;

    private Diagnosis(List<CommunicatorSample> samples) {
        this.samples = samples;
        this.now = samples.get(samples.size() - 1);
    }

    /**
     * Returns the findings, the worst first; empty if nothing is wrong.
     *
     * @param samples samples of one communicator, the latest last
     */
    public static List<Finding> of(List<CommunicatorSample> samples) {
        return new Diagnosis(samples).findings();
    }

    /** Returns true if another sample could show more. */
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
            return samples.size() == 1 && waits(now);
        }
        return samples.size() < 2
                || samples.size() < MAX_SAMPLES
                        && late.get().waitedNanos() < CLEAR_NANOS
                        && LateRanks.slow(samples).isEmpty()
                        && Lateness.of(now).isEmpty();
    }

    private static boolean waits(CommunicatorSample sample) {
        return sample.ranks().values().stream().anyMatch(rank -> rank.waitedNanos() >= NOTED_NANOS);
    }

    private static boolean hasSilent(CommunicatorSample sample) {
        return sample.ranks().values().stream()
                .flatMap(rank -> rank.absentee().stream())
                .anyMatch(it -> it.reason() != Absentee.Reason.OFF && it.reason() != Absentee.Reason.REFUSED);
    }

    private List<Finding> findings() {
        List<Finding> findings = new ArrayList<>();
        addFailure(findings);
        if (!findings.isEmpty()) {
            addAwaited(findings);
            return findings;
        }
        addAbsentees(findings);
        addAwaited(findings);
        addRendezvous(findings);
        addMismatch(findings);
        if (findings.isEmpty()) {
            addLate(findings);
        }
        if (findings.isEmpty()) {
            addTransfers(findings);
        }
        if (findings.isEmpty()) {
            addStalled(findings);
        }
        findings.sort((one, other) -> one.kind().compareTo(other.kind()));
        return findings;
    }

    private void addFailure(List<Finding> findings) {
        List<RankView> failed = now.in(Phase.FAILED);
        if (failed.isEmpty()) {
            return;
        }
        SortedSet<Integer> blamed = new TreeSet<>();
        failed.forEach(rank -> blamed.addAll(rank.snapshot().orElseThrow().failedRanks()));
        String text = failed.get(0)
                .snapshot()
                .orElseThrow()
                .failure()
                .lines()
                .findFirst()
                .orElse("");
        findings.add(new Finding(
                Finding.Kind.FAILED,
                blamed,
                "the communicator has failed: "
                        + (text.length() > MAX_FAILURE_CHARS ? text.substring(0, MAX_FAILURE_CHARS) + "…" : text)));
    }

    private void addAbsentees(List<Finding> findings) {
        Map<Absentee.Reason, List<RankView>> byReason = new EnumMap<>(Absentee.Reason.class);
        for (RankView rank : now.ranks().values()) {
            rank.absentee().ifPresent(it -> byReason.computeIfAbsent(it.reason(), reason -> new ArrayList<>())
                    .add(rank));
        }
        byReason.forEach((reason, ranks) -> kindOf(reason)
                .filter(kind -> kind != Finding.Kind.CLOSED || waiting(0) > 0)
                .ifPresent(kind -> findings.add(new Finding(
                        kind, numbers(ranks), who(ranks) + " " + verb(reason, ranks.size() > 1) + waiters()))));
    }

    private static Optional<Finding.Kind> kindOf(Absentee.Reason reason) {
        return switch (reason) {
            case ENDED -> Optional.of(Finding.Kind.ENDED);
            case STOPPED -> Optional.of(Finding.Kind.STOPPED);
            case SILENT -> Optional.of(Finding.Kind.SILENT);
            case UNREACHABLE -> Optional.of(Finding.Kind.UNREACHABLE);
            case REFUSED -> Optional.of(Finding.Kind.REFUSED);
            case CLOSED -> Optional.of(Finding.Kind.CLOSED);
            case OFF -> Optional.empty();
        };
    }

    public static String verb(Absentee.Reason reason, boolean many) {
        return switch (reason) {
            case ENDED -> (many ? "have" : "has") + " ended";
            case STOPPED -> (many ? "are" : "is") + " stopped (a signal or a debugger; SIGCONT continues a process)";
            case SILENT -> (many ? "accept" : "accepts") + " connections and " + (many ? "do" : "does")
                    + " not answer: stopped, or a JVM that hangs";
            case UNREACHABLE -> "cannot be reached: the host is down, or a network or a firewall drops the connection";
            case REFUSED -> (many ? "refuse" : "refuses") + " the question: another version of JCCL, or another job";
            case CLOSED -> (many ? "have" : "has") + " closed the communicator";
            case OFF -> (many ? "do" : "does") + " not answer jccl ps (JCCL_STATUS=0)";
        };
    }

    /** Names ranks, with their host and process if they are all in one process. */
    private static String who(List<RankView> ranks) {
        RankView first = ranks.get(0);
        boolean isOne = first.pid() >= 0
                && ranks.stream()
                        .allMatch(
                                rank -> rank.pid() == first.pid() && rank.host().equals(first.host()));
        return RankList.subject(numbers(ranks)) + (isOne ? " (pid " + first.pid() + " on " + first.host() + ")" : "");
    }

    private static SortedSet<Integer> numbers(Collection<RankView> ranks) {
        return ranks.stream().map(RankView::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    private int waiting(long atLeastNanos) {
        return (int) now.ranks().values().stream()
                .filter(rank -> rank.waitedNanos() > atLeastNanos)
                .count();
    }

    /** Returns the end of a sentence: how many ranks wait, in which operation and for how long. */
    private String waiters() {
        List<RankView> waiting = now.ranks().values().stream()
                .filter(rank -> rank.waitedNanos() >= NOTED_NANOS)
                .toList();
        if (waiting.isEmpty()) {
            return "";
        }
        long nanos = waiting.stream().mapToLong(RankView::waitedNanos).max().orElse(0);
        String call = waiting.stream()
                .map(Diagnosis::call)
                .flatMap(Optional::stream)
                .findFirst()
                .map(text -> " in " + text)
                .orElse("");
        return "; " + waiting.size() + (waiting.size() == 1 ? " rank waits" : " ranks wait") + call + " for "
                + Durations.text(nanos);
    }

    /** Returns the operation that a rank is in, with its number; empty if there is none. */
    public static Optional<String> call(RankView rank) {
        return rank.snapshot()
                .flatMap(RankSnapshot::underWay)
                .map(it -> it.call() + (it.sequence() == 0 ? "" : " sequence=" + LastEntered.text(it.sequence())));
    }

    /** Adds findings that name the ranks and joining processes for which the initialisation of other ranks waits. */
    private void addAwaited(List<Finding> findings) {
        long longest = longest(now.ranks().values().stream()
                .filter(rank ->
                        rank.snapshot().filter(it -> !it.step().isEmpty()).isPresent()));
        for (AwaitedRanks.Waiting waiting : now.awaited()) {
            if (longest >= UnderWay.LONG_NANOS || longest == 0 && isWaitedForAgain(waiting)) {
                findings.add(new Finding(
                        Finding.Kind.ABSENT,
                        waiting.ranks(),
                        awaited(waiting) + " not come: " + waiting.what()
                                + (longest == 0 ? "" : ", " + Durations.text(longest) + " so far")));
            }
        }
    }

    private String awaited(AwaitedRanks.Waiting waiting) {
        SortedSet<Integer> ranks = waiting.ranks();
        int processes = waiting.processes();
        List<String> all = new ArrayList<>();
        if (!ranks.isEmpty()) {
            all.add(now.ranks().keySet().containsAll(ranks) ? who(views(ranks)) : RankList.subject(ranks));
        }
        if (processes > 0) {
            all.add(processes == 1 ? "a process that joins" : processes + " processes that join");
        }
        return String.join(" and ", all) + (ranks.size() + processes == 1 ? " has" : " have");
    }

    private static long longest(Stream<RankView> ranks) {
        return ranks.mapToLong(rank -> rank.snapshot().orElseThrow().phaseNanos())
                .max()
                .orElse(0);
    }

    /**
     * Adds ranks that are missing at the rendezvous. Only the rendezvous server's host knows them; on another host,
     * these are the ranks of which nothing is known.
     */
    private void addRendezvous(List<Finding> findings) {
        List<RankView> initialising = now.in(Phase.INITIALISING);
        long longest = longest(initialising.stream());
        boolean isRendezvous = initialising.stream()
                .anyMatch(rank -> rank.snapshot().orElseThrow().communicator().isEmpty());
        if (now.awaited().isEmpty() && isRendezvous && longest >= UnderWay.LONG_NANOS) {
            SortedSet<Integer> unknown = unknown();
            findings.add(new Finding(
                    Finding.Kind.ABSENT,
                    unknown,
                    (unknown.isEmpty()
                                    ? "all ranks wait at the rendezvous, whose server does not let them go on, for "
                                    : RankList.subject(unknown) + (unknown.size() == 1 ? " has" : " have")
                                            + " not come as far as this host knows: others wait at the rendezvous for ")
                            + Durations.text(longest) + "; ask the process with the rendezvous server, rank 0 or the"
                            + " one that created the id"));
        }
    }

    /**
     * Returns true if the previous sample contains the same wait. A wait in only one sample may be a normal exchange,
     * for example of a split.
     */
    private boolean isWaitedForAgain(AwaitedRanks.Waiting waiting) {
        return samples.size() > 1 && samples.get(samples.size() - 2).awaited().contains(waiting);
    }

    private SortedSet<Integer> unknown() {
        SortedSet<Integer> unknown = new TreeSet<>();
        for (int rank = 0; rank < now.size(); rank++) {
            if (!now.ranks().containsKey(rank)) {
                unknown.add(rank);
            }
        }
        return unknown;
    }

    private void addMismatch(List<Finding> findings) {
        long sequence = LateRanks.waitedFor(now);
        if (sequence == 0) {
            return;
        }
        List<RankStatus> rows = LateRanks.rows(now);
        Difference.in(rows, sequence)
                .ifPresent(difference -> findings.add(
                        new Finding(Finding.Kind.MISMATCHED, difference.groups().get(0), difference.describe(rows))));
    }

    private void addLate(List<Finding> findings) {
        SortedMap<Integer, Long> lateness = Lateness.of(now);
        SortedSet<Integer> slow = LateRanks.slow(samples);
        slow.addAll(lateness.keySet());
        Optional<LateRanks.Late> late = LateRanks.in(now).filter(it -> it.waitedNanos() >= UnderWay.LONG_NANOS);
        if (late.isPresent() && !isUsual(late.get(), slow)) {
            SortedSet<Integer> ranks = late.get().ranks();
            findings.add(new Finding(
                    Finding.Kind.ABSENT,
                    ranks,
                    who(views(ranks)) + (ranks.size() == 1 ? " has" : " have") + " not entered sequence="
                            + LastEntered.text(late.get().sequence()) + lastOf(ranks) + waiters()));
        } else if (!slow.isEmpty()) {
            findings.add(new Finding(
                    Finding.Kind.SLOW,
                    slow,
                    who(views(slow)) + (slow.size() == 1 ? " is" : " are") + " slow: came to operations up to "
                            + Durations.text(howLate(lateness)) + " later than the others, which waited"));
        }
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
        for (RankView rank : views(late.ranks())) {
            usual = Math.max(usual, USUAL_TIMES * Lateness.outside(rank));
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

    private List<RankView> views(SortedSet<Integer> ranks) {
        return ranks.stream().map(now.ranks()::get).toList();
    }

    /**
     * Adds a finding that names the ranks that are in no operation although other ranks wait for them in sends and
     * receives. Sends and receives have no sequence numbers.
     */
    private void addTransfers(List<Finding> findings) {
        SortedSet<Integer> idle = new TreeSet<>();
        for (RankView rank : now.in(Phase.RUNNING)) {
            if (rank.waitedNanos() >= UnderWay.LONG_NANOS && rank.sequence() == 0) {
                rank.status().waits().stream()
                        .map(ChannelWait::peer)
                        .filter(peer -> now.ranks().containsKey(peer)
                                && now.ranks().get(peer).is(Phase.RUNNING)
                                && call(now.ranks().get(peer)).isEmpty())
                        .forEach(idle::add);
            }
        }
        if (!idle.isEmpty()) {
            findings.add(new Finding(
                    Finding.Kind.ABSENT,
                    idle,
                    who(views(idle)) + (idle.size() == 1 ? " is" : " are") + " in no operation" + waiters()));
        }
    }

    /**
     * Adds ranks that are in the operation and wait for nobody. All ranks have entered it, so the others wait for them.
     */
    private void addStalled(List<Finding> findings) {
        if (waiting(UnderWay.LONG_NANOS) == 0) {
            return;
        }
        List<RankView> busy = now.in(Phase.RUNNING).stream()
                .filter(rank -> call(rank).isPresent() && rank.status().waits().isEmpty())
                .toList();
        SortedSet<Integer> ranks = numbers(busy);
        String text = busy.isEmpty()
                ? "all ranks of the operation wait for each other" + waiters()
                : who(busy) + (busy.size() == 1 ? " is" : " are")
                        + " in an operation without waiting for others: the thread gets no processor, or data"
                        + " that it sent did not arrive" + waiters();
        findings.add(new Finding(Finding.Kind.STALLED, ranks, text));
    }
}
