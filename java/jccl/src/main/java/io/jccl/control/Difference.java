package io.jccl.control;

import io.jccl.Collective;
import io.jccl.RankOperation;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The first operation that ranks called differently, as far as their fingerprints show.
 *
 * @param sequence the operation's number, see {@link LastEntered}
 * @param isFirst true if these ranks are known to agree on the previous operation; otherwise they may differ since an
 *     earlier one
 * @param groups the groups of ranks that made the same call, smallest first
 */
public record Difference(long sequence, boolean isFirst, List<SortedSet<Integer>> groups) {

    private static final SortedMap<String, Function<RankOperation, ?>> ARGUMENTS = new TreeMap<>(Map.of(
            "count",
            RankOperation::count,
            "op",
            call -> call.op() == null ? "none" : call.op().label(),
            "root",
            RankOperation::root,
            "type",
            call -> call.type() == null ? "none" : call.type().label()));

    /**
     * Returns the difference that the ranks' answers to an inquiry about an operation show; empty if they show none.
     *
     * @param rows the answers; one that is about another operation counts only by its fingerprints
     * @param asked the operation in question
     */
    public static Optional<Difference> in(List<RankStatus> rows, long asked) {
        SortedMap<Long, Map<Long, SortedSet<Integer>>> bySequence = new TreeMap<>();
        for (RankStatus row : rows) {
            Trail trail = row.trail();
            for (int i = 0; i < trail.fingerprints().size(); i++) {
                add(bySequence, trail.first() + i, trail.fingerprints().get(i), row.rank());
            }
            row.operationAt(asked)
                    .ifPresent(record -> add(bySequence, LastEntered.plain(asked), record.fingerprint(), row.rank()));
        }
        for (Map.Entry<Long, Map<Long, SortedSet<Integer>>> entry : bySequence.entrySet()) {
            if (entry.getValue().size() > 1) {
                long number = entry.getKey();
                List<SortedSet<Integer>> groups =
                        new ArrayList<>(entry.getValue().values());
                groups.sort(
                        Comparator.<SortedSet<Integer>>comparingInt(Set::size).thenComparing(SortedSet::first));
                return Optional.of(new Difference(
                        LastEntered.isOnDevice(asked) ? LastEntered.onDevice(number) : number,
                        number == 1 || agreed(bySequence.get(number - 1), groups),
                        groups));
            }
        }
        return Optional.empty();
    }

    private static void add(
            SortedMap<Long, Map<Long, SortedSet<Integer>>> bySequence, long number, long fingerprint, int rank) {
        if (fingerprint != 0) {
            bySequence
                    .computeIfAbsent(number, n -> new TreeMap<>())
                    .computeIfAbsent(fingerprint, f -> new TreeSet<>())
                    .add(rank);
        }
    }

    /**
     * Returns true if all these ranks are known to have entered the previous operation, which no rank called
     * differently.
     */
    private static boolean agreed(Map<Long, SortedSet<Integer>> before, List<SortedSet<Integer>> groups) {
        Set<Integer> ranks = groups.stream().flatMap(Set::stream).collect(Collectors.toSet());
        return before != null && before.values().stream().allMatch(same -> same.containsAll(ranks));
    }

    /**
     * Describes the different calls, for example
     * {@code rank 1 called count=5, ranks 0 and 2 count=4 in all_reduce at sequence=7}, and the remedy.
     *
     * @param rows the ranks' answers to an inquiry; those about another operation are not used
     */
    public String describe(List<RankStatus> rows) {
        Map<Integer, RankOperation> byRank = new TreeMap<>();
        rows.forEach(row -> row.operationAt(sequence).ifPresent(record -> byRank.put(row.rank(), record.operation())));
        List<RankOperation> calls = groups.stream()
                .map(group -> byRank.get(group.first()))
                .filter(Objects::nonNull)
                .toList();
        boolean known = calls.size() == groups.size();
        List<String> called = known ? whatDiffers(calls) : List.of();
        Collective collective = known ? calls.get(0).collective() : null;
        boolean sameCollective = collective != null && differing(calls, RankOperation::collective) == 1;
        return who(called)
                + (sameCollective ? " in " + collective.label() : "")
                + (isFirst || !called.isEmpty() ? " at sequence=" : " at or before sequence=")
                + LastEntered.text(sequence)
                + "; make every rank call the same collective with the same type, op, root and count (for each rank)";
    }

    private String who(List<String> called) {
        String first = RankList.subject(groups.get(0));
        if (called.isEmpty()) {
            return groups.stream()
                    .skip(1)
                    .map(RankList::subject)
                    .collect(Collectors.joining(", ", first + " called another operation than ", ""));
        }
        StringBuilder text = new StringBuilder(first).append(" called ").append(called.get(0));
        for (int i = 1; i < groups.size(); i++) {
            text.append(", ")
                    .append(RankList.subject(groups.get(i)))
                    .append(' ')
                    .append(called.get(i));
        }
        return text.toString();
    }

    /**
     * Returns for each call the part that differs from the other calls. Returns an empty list if no row shows the
     * difference, for example if only lists of counts differ.
     */
    private static List<String> whatDiffers(List<RankOperation> calls) {
        if (differing(calls, RankOperation::collective) > 1) {
            return calls.stream().map(RankOperation::call).toList();
        }
        List<String> differing = ARGUMENTS.keySet().stream()
                .filter(name -> differing(calls, ARGUMENTS.get(name)) > 1)
                .toList();
        if (differing.isEmpty()) {
            return List.of();
        }
        return calls.stream()
                .map(call -> differing.stream()
                        .map(name -> name + "=" + ARGUMENTS.get(name).apply(call))
                        .collect(Collectors.joining(" ")))
                .toList();
    }

    private static long differing(List<RankOperation> calls, Function<RankOperation, ?> aspect) {
        return calls.stream().map(aspect).distinct().count();
    }
}
