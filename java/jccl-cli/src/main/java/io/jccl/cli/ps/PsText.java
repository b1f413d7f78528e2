package io.jccl.cli.ps;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.Colour;
import io.jccl.cli.output.TextTable;
import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.diagnosis.Durations;
import io.jccl.diagnosis.Finding;
import io.jccl.diagnosis.RankView;
import io.jccl.status.CommunicatorView;
import io.jccl.status.JoinSnapshot;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Collectors;

/** Formats the output of {@code jccl ps}: first the findings, then the ranks of each communicator by their state. */
final class PsText {

    /** Limit on lines without {@code --verbose}, because nobody reads more. */
    private static final int MAX_STATES = 12;

    private static final int MAX_COMMUNICATORS = 6;

    private final boolean verbose;
    private final boolean colours;
    private final StringBuilder out = new StringBuilder();

    private PsText(boolean verbose, boolean colours) {
        this.verbose = verbose;
        this.colours = colours;
    }

    static String of(
            List<Diagnosis> all,
            Collection<ProcessSnapshot> processes,
            List<String> notes,
            boolean verbose,
            boolean colours) {
        PsText text = new PsText(verbose, colours);
        text.write(all, notes);
        processes.forEach(text::writeJoins);
        return text.out.toString();
    }

    private void write(List<Diagnosis> all, List<String> notes) {
        List<Diagnosis> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.comparing((Diagnosis it) -> it.findings().isEmpty()) // communicators with findings first
                .thenComparing(it -> -it.sample().size()));
        for (Diagnosis one : sorted) {
            for (Finding finding : one.findings()) {
                line(Colour.RED.paint(finding.kind().label().toUpperCase(Locale.ROOT), colours) + " " + finding.text()
                        + (all.size() > 1 ? " [communicator " + name(one.sample()) + "]" : ""));
            }
        }
        if (all.stream().allMatch(it -> it.findings().isEmpty()) && !all.isEmpty()) {
            line(Colour.GREEN.paint("OK", colours) + " no rank holds others up");
        }
        notes.forEach(note -> line("note: " + note));
        int shown = 0;
        for (Diagnosis one : sorted) {
            if (shown == MAX_COMMUNICATORS && !verbose) {
                line("");
                line("and " + (sorted.size() - shown) + " more communicators, see --verbose");
                break;
            }
            write(one);
            shown++;
        }
    }

    private void writeJoins(ProcessSnapshot process) {
        for (JoinSnapshot join : process.joins()) {
            line("");
            line("pid " + process.pid() + " on " + process.hostName() + " waits to join "
                    + (join.job().isEmpty() ? "a job" : "job " + join.job()) + " for " + Durations.text(join.nanos())
                    + ", members=" + join.members());
            if (verbose) {
                join.outcomes().forEach((address, outcome) -> line("  " + address + "  " + outcome));
            } else {
                byOutcome(join.outcomes())
                        .forEach((outcome, addresses) -> line("  " + addresses.get(0)
                                + (addresses.size() == 1 ? "" : " and " + (addresses.size() - 1) + " more") + "  "
                                + outcome));
            }
        }
    }

    private static Map<String, List<String>> byOutcome(Map<String, String> outcomes) {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        outcomes.forEach((address, outcome) ->
                groups.computeIfAbsent(outcome, key -> new ArrayList<>()).add(address));
        return groups;
    }

    private void line(String text) {
        out.append(text).append('\n');
    }

    private static String name(CommunicatorSample sample) {
        return sample.id().isEmpty() ? "(not initialised)" : sample.id();
    }

    private void write(Diagnosis one) {
        CommunicatorSample sample = one.sample();
        line("");
        line("communicator " + name(sample) + "  job " + sample.job() + "  " + sample.size() + " ranks on "
                + sample.hosts() + (sample.hosts() == 1 ? " host" : " hosts")
                + (sample.generation() == 0 ? "" : "  generation " + sample.generation())
                + (sample.medianSequence() == 0 ? "" : "  median sequence=" + sample.medianSequence()));
        Set<Integer> named = new HashSet<>();
        one.findings().forEach(finding -> named.addAll(finding.ranks()));
        List<RankState> states = sorted(sample, named);
        TextTable table = new TextTable("  RANKS", "HOST", "DOES");
        int lines = 0;
        int left = 0;
        for (RankState state : states) {
            if (lines == MAX_STATES && !verbose) {
                left += state.ranks().size();
                continue;
            }
            table.row("  " + ranks(state.numbers()), hosts(state.ranks()), state.describe());
            lines++;
        }
        out.append(table);
        if (left > 0) {
            line("  and " + left + " more ranks in " + (states.size() - lines) + " states, see --verbose");
        }
        SortedSet<Integer> unknown = sample.unknown();
        if (!unknown.isEmpty()) {
            line("  nothing is known here of " + RankList.subject(unknown));
        }
        if (verbose) {
            details(sample);
        }
    }

    /** Returns the states: first those of ranks that findings name, then those farthest from the median. */
    private static List<RankState> sorted(CommunicatorSample sample, Set<Integer> named) {
        long median = sample.medianSequence();
        List<RankState> states = RankState.of(sample);
        states.sort(Comparator.comparing(
                        (RankState state) -> state.numbers().stream().noneMatch(named::contains))
                .thenComparing(state -> -Math.abs(state.sequence() - median))
                .thenComparing(state -> state.numbers().first()));
        return states;
    }

    /** Returns the numbers of ranks without the braces that they have in sentences. */
    private static String ranks(SortedSet<Integer> numbers) {
        return RankList.text(numbers).replace("{", "").replace("}", "");
    }

    private static String hosts(List<RankView> ranks) {
        List<String> hosts = ranks.stream().map(RankView::host).distinct().toList();
        return hosts.size() == 1 ? hosts.get(0) : hosts.size() + " hosts";
    }

    private void details(CommunicatorSample sample) {
        for (RankView rank : sample.ranks().values()) {
            String where = "  rank " + rank.rank() + " pid " + rank.pid() + " on " + rank.host();
            if (rank.snapshot().isEmpty()) {
                line(where + ": "
                        + rank.absentee()
                                .map(it -> RankState.what(it) + ", " + it.text())
                                .orElse("unknown"));
                continue;
            }
            RankSnapshot it = rank.snapshot().get();
            line(where + ": "
                    + it.phase().name().toLowerCase(Locale.ROOT)
                    + (it.step().isEmpty() ? "" : " step=\"" + it.step() + "\"")
                    + " entered=" + it.status().lastEntered().host() + " done="
                    + it.lastDone().host()
                    + (it.status().lastEntered().device() == 0
                            ? ""
                            : " device entered=" + it.status().lastEntered().device() + " done="
                                    + it.lastDone().device())
                    + (it.totals().operations() == 0 ? "" : " " + totals(it.totals()))
                    + traffic(it.traffic())
                    + rank.call()
                            .map(call -> " in " + call + " for "
                                    + Durations.text(it.underWay().orElseThrow().nanos()))
                            .orElse(""));
            for (int i = 0; i < it.waitNanos().size(); i++) {
                long nanos = it.waitNanos().get(i);
                line("    " + it.status().waits().get(i).describe()
                        + (nanos < 0 ? "" : " for " + Durations.text(nanos)));
            }
            if (!it.failure().isEmpty()) {
                it.failure().lines().forEach(text -> line("    " + text));
            }
        }
    }

    private static String totals(CommunicatorView.Totals totals) {
        return totals.operations() + " operations of " + ByteSizes.format(totals.bytes()) + " in "
                + Durations.text(totals.nanos());
    }

    private static String traffic(List<CommunicatorView.Traffic> traffic) {
        return traffic.stream()
                .map(it -> " " + it.transport().label() + "(peers=" + it.peers() + " sent="
                        + ByteSizes.format(it.sentBytes()) + " waited=" + Durations.text(it.waitedNanos()) + ")")
                .collect(Collectors.joining());
    }
}
