package io.jccl.control;

import io.jccl.ChannelWait;
import io.jccl.wire.LastEntered;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The answer of one rank to an inquiry of the coordinator, or the reason why there is no answer.
 *
 * @param rank the rank
 * @param state how the rank answered
 * @param lastEntered the last operations that the rank entered; {@link LastEntered#NOTHING} if none are known
 * @param operation the operation of the rank at the sequence number in question; empty if the rank never entered it or
 *     did not say
 * @param waits the places where the rank's channels wait
 * @param trail the fingerprints of the rank's last operations in the sequence in question
 * @param network the rank's TCP connection that stalls most; empty if none does
 */
public record RankStatus(
        int rank,
        State state,
        LastEntered lastEntered,
        Optional<OperationRecord> operation,
        List<ChannelWait> waits,
        Trail trail,
        String network) {

    /** The ways in which a rank answers. The order of the constants is part of the wire format. */
    public enum State {
        /** The rank answered. */
        ANSWERED,
        /** The rank did not answer in time, although its connection is open. */
        SILENT,
        /** The rank closed its communicator in good order; its last report is known. */
        DEPARTED
    }

    /** Copies the list. */
    public RankStatus {
        waits = List.copyOf(waits);
    }

    /** Creates a status of a rank whose connections do not stall. */
    RankStatus(
            int rank,
            State state,
            LastEntered lastEntered,
            Optional<OperationRecord> operation,
            List<ChannelWait> waits,
            Trail trail) {
        this(rank, state, lastEntered, operation, waits, trail, "");
    }

    /** Creates a status without fingerprints of earlier operations, of a rank whose connections do not stall. */
    RankStatus(
            int rank,
            State state,
            LastEntered lastEntered,
            Optional<OperationRecord> operation,
            List<ChannelWait> waits) {
        this(rank, state, lastEntered, operation, waits, Trail.NONE);
    }

    /** Returns the status of a rank that did not answer. */
    static RankStatus silent(int rank) {
        return new RankStatus(rank, State.SILENT, LastEntered.NOTHING, Optional.empty(), List.of());
    }

    /** Returns the status of a rank that closed its communicator after a last operation. */
    static RankStatus departed(int rank, LastEntered lastEntered) {
        return new RankStatus(rank, State.DEPARTED, lastEntered, Optional.empty(), List.of());
    }

    /** Returns a copy whose fingerprints of earlier operations are {@code other}. */
    RankStatus with(Trail other) {
        return new RankStatus(rank, state, lastEntered, operation, waits, other, network);
    }

    /** Returns a copy with the TCP connection that stalls most; empty if none does. */
    RankStatus withNetwork(String stalled) {
        return new RankStatus(rank, state, lastEntered, operation, waits, trail, stalled);
    }

    /**
     * Returns the present status of a rank, as its own source describes it.
     *
     * @param waits the places where the rank's channels wait
     * @param sequence the operation in question, see {@link LastEntered}
     */
    public static RankStatus of(int rank, StatusSource source, List<ChannelWait> waits, long sequence) {
        return new RankStatus(
                rank,
                State.ANSWERED,
                source.lastEntered(),
                source.recordAt(sequence),
                waits,
                Trail.of(source, sequence));
    }

    /**
     * Returns the ranks for which the others wait in an operation. Ranks may be one operation apart: a late rank that
     * itself waits for a peer is not to blame, unless all late ranks wait.
     *
     * @param rows the ranks' answers, which may be about other operations
     */
    public static SortedSet<Integer> missing(List<RankStatus> rows, long sequence) {
        List<RankStatus> late =
                rows.stream().filter(row -> row.missed(sequence)).toList();
        List<RankStatus> idle =
                late.stream().filter(row -> row.waits().isEmpty()).toList();
        return (idle.isEmpty() ? late : idle)
                .stream().map(RankStatus::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns true if this rank, as far as is known, has not entered the operation. */
    boolean missed(long sequence) {
        return operationAt(sequence).isEmpty() && lastEntered.of(sequence) < sequence;
    }

    /** Returns the operation of the rank at a sequence number; empty if this status is about another operation. */
    Optional<OperationRecord> operationAt(long sequence) {
        return operation.filter(it -> it.operation().sequence() == LastEntered.plain(sequence));
    }

    /** Returns a line for the rank, a line for each of its waits, and a line for its network if that stalls. */
    String describe(long sequence) {
        long last = LastEntered.plain(lastEntered.of(sequence));
        String number = LastEntered.text(sequence);
        String head =
                switch (state) {
                    case SILENT -> "rank=" + rank + " did not answer";
                    case DEPARTED -> "rank=" + rank + " closed its communicator after sequence=" + last;
                    case ANSWERED -> operation
                            .map(record -> record.operation().describe())
                            .orElseGet(() -> "rank=" + rank + (missed(sequence) ? " never entered" : " has finished")
                                    + " sequence=" + number + ", its last is " + last);
                };
        StringBuilder text = new StringBuilder(head);
        for (ChannelWait wait : waits) {
            text.append("\n    ").append(wait.describe());
        }
        if (!network.isEmpty()) {
            text.append("\n    unacknowledged: ").append(network);
        }
        return text.toString();
    }
}
