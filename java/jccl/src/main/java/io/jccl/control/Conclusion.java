package io.jccl.control;

import io.jccl.ChannelWait;
import io.jccl.RankOperation;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The failure that the answers to an inquiry show, if they show one. The order of the cases is that of the table of
 * conclusions in {@code docs/agreement.md}.
 *
 * @param problem the report that led to the inquiry
 * @param sequence the operation in question, see {@link LastEntered}
 * @param rows the status of each rank, in rank order
 * @param departed the ranks that have left
 */
record Conclusion(Problem problem, long sequence, List<RankStatus> rows, Set<Integer> departed) {

    /**
     * A rank's report that needs an inquiry.
     *
     * @param waitedMillis how long the rank has waited; 0 if the time is not known
     */
    record Problem(int reporter, ReportKind kind, long waitedMillis, String text) {

        /** Returns this problem as the report of a mismatch. */
        Problem asMismatch() {
            return new Problem(reporter, ReportKind.MISMATCH, waitedMillis, text);
        }
    }

    Optional<FailureReport> failure(Optional<Difference> difference) {
        if (difference.isPresent() || problem.kind() == ReportKind.MISMATCH) {
            String text = difference.map(it -> it.describe(rows)).orElse(problem.text());
            return failure(FailureReport.Kind.MISMATCH, new TreeSet<>(), text);
        }
        SortedSet<Integer> needed = departedAndNeeded();
        if (!needed.isEmpty() && problem.kind() != ReportKind.TRANSPORT) {
            return failure(
                    FailureReport.Kind.DEPARTED,
                    needed,
                    "ranks " + needed + " closed their communicator before sequence=" + LastEntered.text(sequence)
                            + ", in which others wait for them; close it only when every rank has finished");
        }
        if (problem.kind() == ReportKind.TIMEOUT) {
            return failure(
                    FailureReport.Kind.TIMEOUT, new TreeSet<>(), lateness().orElse(problem.text()));
        }
        if (problem.kind() == ReportKind.TRANSPORT) {
            // After a failed data connection, a rank that does not answer is lost, even if it has not been silent for
            // the heartbeat time-out.
            SortedSet<Integer> silent = ranks(row -> row.state() == RankStatus.State.SILENT);
            FailureReport.Kind kind = silent.isEmpty() ? FailureReport.Kind.TRANSPORT : FailureReport.Kind.PEER_FAILED;
            return failure(kind, silent, problem.text());
        }
        return Optional.empty();
    }

    private Optional<FailureReport> failure(FailureReport.Kind kind, SortedSet<Integer> failed, String text) {
        List<RankStatus> withoutTrails =
                rows.stream().map(row -> row.with(Trail.NONE)).toList();
        return Optional.of(
                new FailureReport(kind, sequence, problem.reporter(), failed, missing(), withoutTrails, text));
    }

    private SortedSet<Integer> missing() {
        return RankStatus.missing(rows, sequence);
    }

    private SortedSet<Integer> ranks(Predicate<RankStatus> which) {
        return rows.stream().filter(which).map(RankStatus::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    private SortedSet<Integer> departedAndNeeded() {
        SortedSet<Integer> needed = ranks(row -> row.state() == RankStatus.State.DEPARTED && row.missed(sequence));
        // Point-to-point transfers have no sequence number by which to tell whether a rank has left too early. But a
        // wait for a rank that has left never ends.
        rows.stream()
                .flatMap(row -> row.waits().stream())
                .map(ChannelWait::peer)
                .filter(departed::contains)
                .forEach(needed::add);
        return needed;
    }

    /**
     * Returns a text that names the missing ranks, if the rank that reported the problem waits in the operation; else
     * empty.
     */
    private Optional<String> lateness() {
        SortedSet<Integer> missing = missing();
        Optional<RankOperation> waiting = rows.get(problem.reporter())
                .operation()
                .map(OperationRecord::operation)
                .filter(operation -> operation.state() != RankOperation.State.DONE);
        if (missing.isEmpty() || waiting.isEmpty()) {
            return Optional.empty();
        }
        String time = problem.waitedMillis() == 0 ? "" : RankList.duration(problem.waitedMillis());
        return Optional.of(RankList.late(missing, rows.size(), waiting.get().call(), time)
                + "; look into the logs of those that are missing, or raise JCCL_TIMEOUT");
    }
}
