package io.jccl.diagnosis;

import io.jccl.status.Absentee;
import io.jccl.status.RankSnapshot;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A communicator and the findings about it.
 *
 * @param sample the latest sample
 * @param findings the findings, the worst first; empty if nothing is wrong
 */
public record Diagnosis(CommunicatorSample sample, List<Finding> findings) {

    private static final int MAX_FAILURE_CHARS = 300;

    /** Copies the list. */
    public Diagnosis {
        findings = List.copyOf(findings);
    }

    /**
     * Finds the ranks that hold a communicator up. One sample shows which ranks are late; several distinguish a slow
     * rank from an absent one, see {@link Sampling}.
     *
     * @param samples samples of one communicator, the latest last
     */
    public static Diagnosis of(List<CommunicatorSample> samples) {
        CommunicatorSample now = samples.get(samples.size() - 1);
        InitialisationRules initialisation = new InitialisationRules(samples);
        List<Finding> findings = new ArrayList<>(initialisation.awaited());
        Optional<Finding> failure = failure(now);
        if (failure.isPresent()) {
            findings.add(failure.get());
        } else {
            OperationRules operations = new OperationRules(samples);
            findings.addAll(absentees(now));
            initialisation.missingAtRendezvous().ifPresent(findings::add);
            operations.mismatched().ifPresent(findings::add);
            if (findings.isEmpty()) {
                operations
                        .late()
                        .or(operations::missingInTransfers)
                        .or(operations::stalled)
                        .ifPresent(findings::add);
            }
        }
        findings.sort(Comparator.comparing(Finding::kind));
        return new Diagnosis(now, findings);
    }

    private static Optional<Finding> failure(CommunicatorSample now) {
        List<RankSnapshot> failed = now.in(RankSnapshot.Phase.FAILED).stream()
                .map(rank -> rank.snapshot().orElseThrow())
                .toList();
        if (failed.isEmpty()) {
            return Optional.empty();
        }
        SortedSet<Integer> blamed = new TreeSet<>();
        failed.forEach(rank -> blamed.addAll(rank.failedRanks()));
        String text = failed.get(0).failure().lines().findFirst().orElse("");
        return Optional.of(new Finding(
                Finding.Kind.FAILED,
                blamed,
                "the communicator has failed: "
                        + (text.length() > MAX_FAILURE_CHARS ? text.substring(0, MAX_FAILURE_CHARS) + "…" : text)));
    }

    private static List<Finding> absentees(CommunicatorSample now) {
        Map<Absentee.Reason, SortedSet<Integer>> byReason = new EnumMap<>(Absentee.Reason.class);
        for (RankView rank : now.ranks().values()) {
            rank.absentee().ifPresent(it -> byReason.computeIfAbsent(it.reason(), reason -> new TreeSet<>())
                    .add(rank.rank()));
        }
        List<Finding> findings = new ArrayList<>();
        byReason.forEach((reason, ranks) -> kindOf(reason)
                .filter(kind -> kind != Finding.Kind.CLOSED || now.longestWaitNanos() > 0)
                .ifPresent(kind -> findings.add(new Finding(
                        kind,
                        ranks,
                        Wording.who(now, ranks) + " " + reason.predicate(ranks.size() > 1) + Wording.waiters(now)))));
        return findings;
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
}
