package io.jccl.control;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.RankOperation;
import io.jccl.TransportException;
import io.jccl.wire.LastEntered;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The agreed failure of a communicator.
 *
 * @param kind the kind of failure
 * @param sequence the operation in question, see {@link LastEntered}; 0 if none
 * @param reporter the rank whose report led to the failure, or -1 if the control network itself noticed it
 * @param failedRanks ranks that died, or left while others needed them; ascending
 * @param missingRanks ranks that never entered the operation or did not answer, except those that only wait for another
 *     such rank; ascending
 * @param rows the status of each rank, in rank order; empty if no rank was asked
 * @param text the description of the failure
 */
public record FailureReport(
        Kind kind,
        long sequence,
        int reporter,
        SortedSet<Integer> failedRanks,
        SortedSet<Integer> missingRanks,
        List<RankStatus> rows,
        String text) {

    /** The kinds of failure. The order of the constants is part of the wire format. */
    public enum Kind {
        /** An operation was not finished in time. */
        TIMEOUT,
        /** Ranks called different operations at the same place of the sequence. */
        MISMATCH,
        /** The data network failed between living ranks. */
        TRANSPORT,
        /** A rank aborted the communicator. */
        ABORTED,
        /** A rank died or became unreachable. */
        PEER_FAILED,
        /** A rank closed its communicator in good order while others were still in an operation with it. */
        DEPARTED
    }

    /** Copies the collections. */
    public FailureReport {
        failedRanks = Collections.unmodifiableSortedSet(new TreeSet<>(failedRanks));
        missingRanks = Collections.unmodifiableSortedSet(new TreeSet<>(missingRanks));
        rows = List.copyOf(rows);
    }

    /** Returns a failure whose reason is that ranks are gone. */
    static FailureReport gone(Kind kind, Set<Integer> ranks, long sequence, String text) {
        return new FailureReport(kind, sequence, -1, new TreeSet<>(ranks), new TreeSet<>(), List.of(), text);
    }

    /** Returns what every rank reported about the operation, as rows for {@link MismatchedCollectiveException}. */
    public List<RankOperation> operations() {
        return rows.stream()
                .map(row -> row.operation()
                        .map(OperationRecord::operation)
                        .orElseGet(() -> RankOperation.absent(row.rank(), LastEntered.plain(sequence))))
                .toList();
    }

    /**
     * Returns the failure as text of several lines: the description, the ranks to blame, then lines for each rank and
     * wait.
     */
    public String describe() {
        StringBuilder text = new StringBuilder(256);
        text.append(text());
        if (!failedRanks.isEmpty()) {
            text.append("; failedRanks=").append(failedRanks);
        }
        if (!missingRanks.isEmpty()) {
            text.append("; missingRanks=").append(missingRanks);
        }
        if (sequence > 0) {
            text.append("; sequence=").append(LastEntered.text(sequence));
        }
        if (!rows.isEmpty()) {
            text.append(
                    rows.stream().map(row -> "\n  " + row.describe(sequence)).collect(Collectors.joining()));
        }
        if (rows.stream().anyMatch(row -> !row.network().isEmpty())) {
            text.append("\n  ").append(StalledConnections.REMEDY);
        }
        return text.toString();
    }

    /** Returns the exception for a caller, a new one on every call. */
    public JcclException toException() {
        String message = describe();
        return switch (kind) {
            case TIMEOUT -> new CommunicationTimeoutException(message, missingRanks, null);
            case MISMATCH -> new MismatchedCollectiveException(message, operations(), null);
            case TRANSPORT -> new TransportException(message);
            case ABORTED -> new AbortedException(message);
            case PEER_FAILED, DEPARTED -> new PeerFailedException(message, failedRanks, null);
        };
    }
}
