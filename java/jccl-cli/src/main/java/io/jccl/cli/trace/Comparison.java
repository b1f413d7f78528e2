package io.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Compares the operations of one communicator's ranks: where they differ first, which ranks never entered one, and
 * which were late.
 */
final class Comparison {

    /**
     * A finding.
     *
     * @param kind kind of finding: no_dump, first_difference, never_entered, under_way, entered_last, latest_entry or
     *     waits
     * @param text for people, with ranks and operations as {@code name=value}
     */
    record Finding(String kind, String text) {}

    private static final int RANKS_SHOWN = 3;

    private final List<Dump> dumps; // in the order of ranks
    private final Clocks clocks;

    Comparison(List<Dump> dumps, Clocks clocks) {
        this.dumps = dumps;
        this.clocks = clocks;
    }

    /** Returns all differences and waits, the likeliest cause first. */
    List<Finding> findings() {
        List<Finding> lines = new ArrayList<>();
        lines.addAll(missingDumps());
        compare("", dumps.stream().collect(Collectors.toMap(Dump::rank, Dump::operations)), lines);
        compare("device ", dumps.stream().collect(Collectors.toMap(Dump::rank, Dump::deviceOperations)), lines);
        for (Dump dump : dumps) {
            for (String wait : dump.waits()) {
                lines.add(new Finding("waits", "rank=" + dump.rank() + " " + wait));
            }
        }
        return lines;
    }

    private List<Finding> missingDumps() {
        TreeSet<Integer> missing =
                IntStream.range(0, dumps.get(0).size()).boxed().collect(Collectors.toCollection(TreeSet::new));
        dumps.forEach(dump -> missing.remove(dump.rank()));
        return missing.isEmpty()
                ? List.of()
                : List.of(new Finding(
                        "no_dump",
                        "no dump of " + ranks(missing)
                                + ": killed, on a host with another folder, or without a report of the failure"));
    }

    private void compare(String kind, Map<Integer, List<Dump.Operation>> all, List<Finding> lines) {
        Map<Integer, Map<Long, Dump.Operation>> byRank = new TreeMap<>();
        all.forEach((rank, operations) -> byRank.put(
                rank,
                operations.stream().collect(Collectors.toMap(Dump.Operation::sequence, one -> one, (a, b) -> b))));
        TreeSet<Long> sequences = new TreeSet<>();
        byRank.values().forEach(operations -> sequences.addAll(operations.keySet()));
        if (sequences.isEmpty()) {
            return;
        }
        firstDifference(kind, byRank, sequences).ifPresent(text -> lines.add(new Finding("first_difference", text)));
        absent(kind, byRank, sequences.last(), lines);
        underWay(kind, byRank, lines);
        late(kind, byRank, sequences, lines);
    }

    /** Returns the first operation in which ranks made different calls; empty if there is none. */
    private static Optional<String> firstDifference(
            String kind, Map<Integer, Map<Long, Dump.Operation>> byRank, TreeSet<Long> sequences) {
        for (long sequence : sequences) {
            Map<String, TreeSet<Integer>> calls = new LinkedHashMap<>();
            Map<String, TreeSet<Integer>> fingerprints = new LinkedHashMap<>();
            byRank.forEach((rank, operations) -> {
                Dump.Operation one = operations.get(sequence);
                if (one != null) {
                    calls.computeIfAbsent(one.call(), call -> new TreeSet<>()).add(rank);
                    fingerprints
                            .computeIfAbsent(one.fingerprint(), print -> new TreeSet<>())
                            .add(rank);
                }
            });
            String at = "first difference: " + kind + "sequence=" + sequence + ": ";
            if (calls.size() > 1) {
                return Optional.of(at + groups(calls));
            }
            if (fingerprints.size() > 1) {
                return Optional.of(at + "all called "
                        + calls.keySet().iterator().next() + ", but "
                        + fingerprints.values().stream().map(Comparison::ranks).collect(Collectors.joining(" and "))
                        + " differ in counts by rank, in a user-defined reduction, or in an operation that is no longer on"
                        + " record");
            }
        }
        return Optional.empty();
    }

    /** Lists groups of ranks by their calls, the smallest group first, because it is the likelier culprit. */
    private static String groups(Map<String, TreeSet<Integer>> calls) {
        return calls.entrySet().stream()
                .sorted((a, b) ->
                        Integer.compare(a.getValue().size(), b.getValue().size()))
                .map(entry -> ranks(entry.getValue()) + " called " + entry.getKey())
                .collect(Collectors.joining(", "));
    }

    /** Adds the ranks that never entered an operation that others entered. */
    private void absent(String kind, Map<Integer, Map<Long, Dump.Operation>> byRank, long last, List<Finding> lines) {
        Map<Long, TreeSet<Integer>> behind = new TreeMap<>();
        byRank.forEach((rank, operations) -> {
            long theirs = operations.keySet().stream().mapToLong(it -> it).max().orElse(0);
            if (theirs < last) {
                behind.computeIfAbsent(theirs + 1, next -> new TreeSet<>()).add(rank);
            }
        });
        behind.forEach((next, ranks) -> {
            Optional<Dump.Operation> others = byRank.values().stream()
                    .map(operations -> operations.get(next))
                    .filter(one -> one != null)
                    .findFirst();
            lines.add(new Finding(
                    "never_entered",
                    ranks(ranks) + " never entered " + kind + "sequence=" + next
                            + others.map(one -> " " + one.call()).orElse("")
                            + (last == next ? "" : "; others came to sequence=" + last)));
        });
    }

    /** Adds operations that have not ended, with the time for which they have run. */
    private void underWay(String kind, Map<Integer, Map<Long, Dump.Operation>> byRank, List<Finding> lines) {
        Map<String, TreeSet<Integer>> open = new LinkedHashMap<>();
        Map<String, Long> longest = new HashMap<>();
        for (Dump dump : dumps) {
            for (Dump.Operation one : byRank.get(dump.rank()).values()) {
                if (one.state().equals("running")) {
                    String what = kind + "sequence=" + one.sequence() + " " + one.call();
                    open.computeIfAbsent(what, it -> new TreeSet<>()).add(dump.rank());
                    if (one.times().hasBegun()) {
                        longest.merge(what, dump.nanos() - one.times().begun(), Math::max);
                    }
                }
            }
        }
        open.forEach((what, ranks) -> lines.add(new Finding(
                "under_way",
                "under way at " + ranks(ranks) + ": " + what
                        + (longest.containsKey(what) ? ", for " + Durations.text(longest.get(what)) : ""))));
    }

    /** Adds the ranks that most often entered operations last, and how much later than the median rank. */
    private void late(
            String kind, Map<Integer, Map<Long, Dump.Operation>> byRank, TreeSet<Long> sequences, List<Finding> lines) {
        Map<Integer, List<Long>> lags = new TreeMap<>();
        int compared = 0;
        long worst = -1;
        String where = "";
        for (long sequence : sequences) {
            long[] begins = new long[dumps.size()];
            int known = 0;
            int last = -1;
            long lastBegin = Long.MIN_VALUE;
            for (Dump dump : dumps) {
                Dump.Operation one = byRank.get(dump.rank()).get(sequence);
                if (one == null || !one.times().hasBegun()) {
                    break;
                }
                long begin = clocks.align(dump, one.times().begun());
                begins[known++] = begin;
                if (begin > lastBegin) {
                    lastBegin = begin;
                    last = dump.rank();
                }
            }
            if (known < dumps.size() || known < 2) {
                continue;
            }
            compared++;
            Arrays.sort(begins);
            long lag = lastBegin - begins[(known - 1) / 2];
            lags.computeIfAbsent(last, rank -> new ArrayList<>()).add(lag);
            if (lag > worst) {
                worst = lag;
                where = "sequence=" + sequence + " by rank=" + last;
            }
        }
        for (Map.Entry<Integer, List<Long>> entry : mostOften(lags)) {
            List<Long> sorted = entry.getValue().stream().sorted().toList();
            lines.add(new Finding(
                    "entered_last",
                    "rank=" + entry.getKey() + " entered last in " + sorted.size() + " of " + compared + " " + kind
                            + "operations, " + Durations.text(sorted.get(sorted.size() / 2))
                            + " after the median rank in the median, "
                            + Durations.text(sorted.get(sorted.size() - 1)) + " at most"));
        }
        if (worst >= 0) {
            lines.add(new Finding(
                    "latest_entry",
                    "latest " + kind + "entry: " + where + ", " + Durations.text(worst) + " after the median rank"));
        }
    }

    private static List<Map.Entry<Integer, List<Long>>> mostOften(Map<Integer, List<Long>> lags) {
        return lags.entrySet().stream()
                .sorted((a, b) ->
                        Integer.compare(b.getValue().size(), a.getValue().size()))
                .limit(RANKS_SHOWN)
                .toList();
    }

    /** Returns a text such as {@code rank=3} or {@code ranks=0,2-5}. */
    static String ranks(TreeSet<Integer> ranks) {
        if (ranks.size() == 1) {
            return "rank=" + ranks.first();
        }
        StringBuilder text = new StringBuilder("ranks=");
        String separator = "";
        for (Integer first = ranks.first(); first != null; ) {
            int last = first;
            while (ranks.contains(last + 1)) {
                last++;
            }
            text.append(separator).append(first);
            if (last > first) {
                text.append(last == first + 1 ? ',' : '-').append(last);
            }
            separator = ",";
            first = ranks.higher(last);
        }
        return text.toString();
    }
}
