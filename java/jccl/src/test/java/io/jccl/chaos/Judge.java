package io.jccl.chaos;

import io.jccl.testing.WorkerProcess.Report;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Decides whether a round ended as promised. Every rank that is no victim ends in bounded time, with right results or
 * with an exception that names the victims. At most one group continues, and never a minority of the ranks that have
 * not ended. No resource is left behind.
 */
final class Judge {

    /** The outcomes of a round, from best to worst. */
    enum Outcome {
        /** Every remaining rank got right results and no exception. */
        RIGHT,
        /** Exceptions named the victims; all remaining ranks continued, with right results. */
        WENT_ON,
        /** Exceptions named the victims; some or all remaining ranks did not continue. */
        ENDED,
        /** Something happened that must not happen. */
        FAILED
    }

    /**
     * The decision about a round.
     *
     * @param faults what happened and must not happen; empty unless the outcome is FAILED
     * @param seconds time from the fault until the last remaining rank noticed it; NaN if none did
     */
    record Decision(Outcome outcome, List<String> faults, double seconds) {}

    private static final Pattern FAILED = Pattern.compile("failed (\\w+) (\\w+) \\[([0-9, ]*)] (.*)");
    private static final Pattern ON = Pattern.compile("on (\\S+) \\[([0-9, ]*)]");

    /**
     * Limit for noticing a process that ended: the kernel closes its connections at once, so nearly all of the limit is
     * for a loaded host.
     */
    private static final Duration NOTICED_END = Duration.ofSeconds(4);

    /** Limit for noticing a silent process: the longest time-out, and some time for a loaded host. */
    private static final Duration NOTICED_SILENCE = Round.INIT_TIMEOUT.plusSeconds(4);

    private final int slowness;

    Judge(int slowness) {
        this.slowness = slowness;
    }

    /** Judges a round by its log. */
    Decision decide(RoundLog log) {
        Round round = log.round();
        List<String> faults = new ArrayList<>(log.troubles());
        log.held().forEach((rank, held) -> faults.add("rank " + rank + " holds " + held));
        Map<Integer, String> ends = log.ends();
        Map<Integer, RankRound.End> left = new TreeMap<>();
        ends.forEach((rank, end) -> {
            if (end.startsWith("BUG")) {
                faults.add("rank " + rank + " threw " + end.substring(4));
            } else if (!round.victims().contains(rank) && !round.joins(rank)) {
                left.put(rank, RankRound.End.valueOf(end));
            }
        });
        for (int process = 0; process < round.processes(); process++) {
            if (!round.victims().contains(process)) {
                faults.addAll(wrongFailures(log, process));
            }
        }
        double latest = Double.NaN;
        for (int rank : left.keySet()) {
            double seconds = log.secondsUntil(rank, "failed ");
            latest = Double.isNaN(latest) ? seconds : Double.isNaN(seconds) ? latest : Math.max(latest, seconds);
        }
        // If a process ends before it has connected to the others, the others see only silence.
        boolean isSeen = round.fault().effect() == Fault.Effect.ENDS
                && round.phase() != Phase.INIT
                && !round.victims().contains(round.size());
        Duration limit = (isSeen && !round.staggered() ? NOTICED_END : NOTICED_SILENCE).multipliedBy(slowness);
        if (latest > limit.toMillis() / 1e3) {
            faults.add(String.format("noticed after %.1f s, limit %d s", latest, limit.toSeconds()));
        }
        faults.addAll(wrongGroups(log));
        faults.addAll(wrongEnds(log, left));
        return new Decision(faults.isEmpty() ? outcome(left) : Outcome.FAILED, faults, latest);
    }

    private static Outcome outcome(Map<Integer, RankRound.End> left) {
        if (left.values().stream().allMatch(RankRound.End.RIGHT::equals)) {
            return Outcome.RIGHT;
        }
        boolean allOn =
                left.values().stream().allMatch(end -> end == RankRound.End.WENT_ON || end == RankRound.End.RIGHT);
        return allOn ? Outcome.WENT_ON : Outcome.ENDED;
    }

    /**
     * Describes the failures of a remaining rank that have no cause, name nobody, or name ranks that are no victims.
     */
    private static List<String> wrongFailures(RoundLog log, int rank) {
        Round round = log.round();
        List<String> wrong = new ArrayList<>();
        for (Report report : log.reports().get(rank)) {
            Matcher failed = FAILED.matcher(report.text());
            if (!failed.matches()) {
                continue;
            }
            if (round.fault().effect() == Fault.Effect.NONE) {
                wrong.add("rank " + rank + " failed without cause: " + report.text());
                continue;
            }
            if (round.joins(rank)) {
                continue; // the process that joins knows only that no rank has admitted it
            }
            // A rank whose server cannot accept connections logs the reason; the other ranks know only that they cannot
            // connect.
            boolean blames = round.fault().effect() == Fault.Effect.MAY_FAIL
                    && (namesAVictim(round, failed.group(4)) || round.victims().contains(0)); // rank 0 runs the servers
            if (!round.victims().containsAll(ranks(failed.group(3))) && !blames) {
                wrong.add("rank " + rank + " names ranks that are no victims: " + report.text());
            }
            // In the first case the rank's next report names the cause.
            boolean refersToAnother = failed.group(4).contains("its exception says why")
                    || failed.group(4).contains("aborted the communicator"); // the previous report names the cause
            if (failed.group(3).isEmpty() && !refersToAnother && !namesAVictim(round, failed.group(4))) {
                wrong.add("rank " + rank + " names nobody: " + report.text());
            }
        }
        return wrong;
    }

    /**
     * Returns true if a text names a victim: by its number, or, if the victim is rank 0, as the process that created
     * the id.
     */
    private static boolean namesAVictim(Round round, String text) {
        return round.victims().contains(round.size()) // a process that joins: it has no number that others could name
                || round.victims().stream().anyMatch(victim -> Stream.of("rank ", "rank=", "peer=")
                        .anyMatch(word -> text.contains(word + victim)))
                || round.victims().contains(0) && text.contains("that created the id");
    }

    /** Describes groups that must not have continued: more than one, or one that is too small. */
    private static List<String> wrongGroups(RoundLog log) {
        Round round = log.round();
        Map<String, TreeSet<Integer>> groups = new HashMap<>();
        Map<String, Integer> sizes = new HashMap<>();
        for (int rank = 0; rank < log.reports().size(); rank++) {
            for (Report report : log.reports().get(rank)) {
                Matcher on = ON.matcher(report.text());
                if (on.matches()) {
                    groups.computeIfAbsent(on.group(1), id -> new TreeSet<>()).add(rank);
                    sizes.put(on.group(1), ranks(on.group(2)).size());
                }
            }
        }
        List<String> wrong = new ArrayList<>();
        if (groups.size() > 1) {
            wrong.add("several groups went on: " + groups);
        }
        sizes.forEach((id, size) -> {
            int living = size + othersThatMayLive(log, groups.get(id));
            boolean isHalf = 2 * size == living && groups.get(id).contains(0);
            if (2 * size <= living && !isHalf) {
                wrong.add("a minority of " + size + " among " + living + " went on: " + groups.get(id));
            }
        });
        return wrong;
    }

    /**
     * Returns how many ranks outside of a group may have lived when the group continued. Ranks that were killed, or
     * that had given up and closed everything, do not count.
     */
    private static int othersThatMayLive(RoundLog log, TreeSet<Integer> group) {
        double wentOn = log.secondsUntil(group.first(), "on ");
        int living = 0;
        for (int rank = 0; rank < log.round().size(); rank++) {
            boolean wasKilled =
                    log.round().fault() == Fault.KILL && log.round().victims().contains(rank);
            boolean gaveUp = log.secondsUntil(rank, "refused") <= wentOn || log.secondsUntil(rank, "end ") <= wentOn;
            boolean mayLive = !gaveUp || log.ends().get(rank).equals("WENT_ON");
            living += !group.contains(rank) && !wasKilled && mayLive ? 1 : 0;
        }
        return living;
    }

    /**
     * Describes remaining ranks that could have continued and did not. Remaining ranks can continue if the communicator
     * has failed on all of them, and if they are a majority or the other ranks have ended. There are two exceptions.
     * First, after a fault with the effect MAY_FAIL the victim may live, join the next communicator and make that one
     * fail, too. Second, a late victim may call shrink at the same time as the others but exclude other ranks than they
     * do.
     */
    private static List<String> wrongEnds(RoundLog log, Map<Integer, RankRound.End> left) {
        Round round = log.round();
        boolean differed = left.keySet().stream()
                .flatMap(rank -> log.reports().get(rank).stream())
                .anyMatch(report -> report.text().startsWith("refused without")
                        && report.text().contains("exclude different ones"));
        boolean allFailed =
                left.values().stream().allMatch(end -> end == RankRound.End.WENT_ON || end == RankRound.End.REFUSED);
        boolean may = round.fault() == Fault.KILL
                || 2 * left.size() > round.size() && round.fault().effect() != Fault.Effect.MAY_FAIL;
        if (allFailed && may && !differed && left.containsValue(RankRound.End.REFUSED)) {
            return List.of("ranks that could go on did not: " + left);
        }
        return List.of();
    }

    private static TreeSet<Integer> ranks(String text) {
        TreeSet<Integer> ranks = new TreeSet<>();
        for (String one : text.split(", ")) {
            if (!one.isEmpty()) {
                ranks.add(Integer.parseInt(one));
            }
        }
        return ranks;
    }
}
