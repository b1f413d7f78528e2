package io.jccl.cli.ps;

import io.jccl.ChannelWait;
import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Durations;
import io.jccl.diagnosis.RankView;
import io.jccl.status.Absentee;
import io.jccl.status.CommunicatorView;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Ranks of a communicator in the same state, shown as one line. */
final class RankState {

    private final String what;
    private final long sequence;
    private final List<RankView> ranks = new ArrayList<>();

    private RankState(String what, long sequence) {
        this.what = what;
        this.sequence = sequence;
    }

    /** Returns the ranks of a communicator, grouped by their state. */
    static List<RankState> of(CommunicatorSample sample) {
        SortedMap<String, RankState> states = new TreeMap<>();
        for (RankView rank : sample.ranks().values()) {
            String what = what(rank);
            long last =
                    rank.snapshot().map(it -> it.status().lastEntered().host()).orElse(-1L);
            states.computeIfAbsent(last + " " + what, key -> new RankState(what, last))
                    .ranks
                    .add(rank);
        }
        return new ArrayList<>(states.values());
    }

    /** Describes a rank's state without its times, which differ between ranks. */
    private static String what(RankView rank) {
        if (rank.snapshot().isEmpty()) {
            return rank.absentee().map(RankState::what).orElse("unknown");
        }
        RankSnapshot it = rank.snapshot().get();
        return switch (it.phase()) {
            case INITIALISING -> "initialising: " + it.step();
            case FAILED -> it.step().isEmpty() ? "failed" : "failed; in " + it.step();
            case CLOSING -> "closing";
            case RUNNING -> rank.call()
                    .or(() -> Optional.of(it.step()).filter(step -> !step.isEmpty()))
                    .map(call -> "in " + call)
                    .orElse("in no operation, the last is sequence="
                            + it.status().lastEntered().host()
                            + (it.status().lastEntered().device() == 0
                                    ? ""
                                    : " and "
                                            + LastEntered.text(LastEntered.onDevice(
                                                    it.status().lastEntered().device()))));
        };
    }

    static String what(Absentee absentee) {
        return switch (absentee.reason()) {
            case ENDED -> "ended";
            case STOPPED -> "stopped";
            case SILENT -> "no answer";
            case UNREACHABLE -> "unreachable";
            case REFUSED -> "refuses to answer: " + absentee.text();
            case OFF -> "not visible (JCCL_STATUS=0)";
            case CLOSED -> "closed";
        };
    }

    List<RankView> ranks() {
        return ranks;
    }

    long sequence() {
        return sequence;
    }

    SortedSet<Integer> numbers() {
        return RankView.numbers(ranks);
    }

    /** Describes the state with its time and the ranks that are waited for. */
    String describe() {
        return what + time() + waits();
    }

    private String time() {
        long min = Long.MAX_VALUE;
        long max = 0;
        for (RankView rank : ranks) {
            long nanos = nanos(rank);
            min = Math.min(min, nanos);
            max = Math.max(max, nanos);
        }
        if (max <= 0) {
            return "";
        }
        // Ranks enter an operation one after the other, so only a large difference of their times is shown as two
        // numbers.
        return max - min > max / 4 && max >= CommunicatorView.UnderWay.LONG_NANOS
                ? " for " + Durations.text(min) + " to " + Durations.text(max)
                : " for " + Durations.text(max);
    }

    private static long nanos(RankView rank) {
        if (rank.snapshot().isEmpty()) {
            return 0;
        }
        RankSnapshot it = rank.snapshot().get();
        return switch (it.phase()) {
            case INITIALISING, CLOSING -> it.phaseNanos();
            case FAILED -> it.step().isEmpty() ? 0 : it.phaseNanos();
            case RUNNING -> it.underWay()
                    .map(CommunicatorView.UnderWay::nanos)
                    .orElse(it.step().isEmpty() ? 0L : it.phaseNanos());
        };
    }

    /** Describes the ranks for which these ranks wait: each other, or others. */
    private String waits() {
        SortedSet<Integer> own = numbers();
        SortedMap<String, SortedSet<Integer>> others = new TreeMap<>(); // key: transport; value: peers
        SortedSet<String> inside = new TreeSet<>(); // transports
        for (RankView rank : ranks) {
            if (rank.snapshot().isEmpty()) {
                continue;
            }
            for (ChannelWait wait : rank.status().waits()) {
                String transport = wait.transport().label();
                if (own.contains(wait.peer())) {
                    inside.add(transport);
                } else {
                    others.computeIfAbsent(transport, key -> new TreeSet<>()).add(wait.peer());
                }
            }
        }
        List<String> parts = new ArrayList<>();
        others.forEach((transport, peers) -> parts.add(RankList.subject(peers) + " over " + transport));
        if (!inside.isEmpty()) {
            parts.add((parts.isEmpty() ? "" : "for ") + "each other over " + String.join(" and ", inside));
        }
        String verb = ranks.size() == 1 ? "waits" : "wait";
        return parts.isEmpty() ? "" : "; " + verb + " for " + String.join(", ", parts);
    }
}
