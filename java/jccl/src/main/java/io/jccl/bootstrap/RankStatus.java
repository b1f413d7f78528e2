package io.jccl.bootstrap;

import io.jccl.ChannelWait;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What one rank said when the coordinator asked, or why it said nothing.
 *
 * @param rank the rank
 * @param state how it answered
 * @param lastEntered the last operations it entered, none if none are known
 * @param operation what it did at the sequence number in question; empty if it never entered it or did not say
 * @param waits where its channels stand still
 * @param trail the fingerprints of its last operations in the sequence in question
 * @param network its TCP connection that stalls most; empty if none does
 */
public record RankStatus(
        int rank,
        State state,
        LastEntered lastEntered,
        Optional<OperationRecord> operation,
        List<ChannelWait> waits,
        Trail trail,
        String network) {

    /** How a rank answered. The order of the constants is part of the wire format. */
    public enum State {
        /** It answered. */
        ANSWERED,
        /** It did not answer in time, though its connection stands. */
        SILENT,
        /** It closed its communicator in good order; what it said then is known. */
        DEPARTED
    }

    /** Copies the list. */
    public RankStatus {
        waits = List.copyOf(waits);
    }

    /** A status of a rank whose connections do not stall. */
    public RankStatus(
            int rank,
            State state,
            LastEntered lastEntered,
            Optional<OperationRecord> operation,
            List<ChannelWait> waits,
            Trail trail) {
        this(rank, state, lastEntered, operation, waits, trail, "");
    }

    /** A status that says nothing of earlier operations. */
    RankStatus(
            int rank,
            State state,
            LastEntered lastEntered,
            Optional<OperationRecord> operation,
            List<ChannelWait> waits) {
        this(rank, state, lastEntered, operation, waits, Trail.NONE);
    }

    /** A rank that did not answer. */
    static RankStatus silent(int rank) {
        return new RankStatus(rank, State.SILENT, LastEntered.NOTHING, Optional.empty(), List.of());
    }

    /** A rank that closed its communicator after a last operation. */
    static RankStatus departed(int rank, LastEntered lastEntered) {
        return new RankStatus(rank, State.DEPARTED, lastEntered, Optional.empty(), List.of());
    }

    /** The same with, or without, the fingerprints of earlier operations. */
    RankStatus with(Trail other) {
        return new RankStatus(rank, state, lastEntered, operation, waits, other, network);
    }

    /** The same with the TCP connection that stalls most; empty if none does. */
    RankStatus withNetwork(String stalled) {
        return new RankStatus(rank, state, lastEntered, operation, waits, trail, stalled);
    }

    /**
     * What a rank says of itself now.
     *
     * @param waits where its channels stand still
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
     * The ranks that the others wait for in an operation. Ranks may be an operation apart: a late rank that waits for a peer
     * itself is not to blame, unless all late ones wait.
     */
    public static SortedSet<Integer> missing(List<RankStatus> rows, long sequence) {
        List<RankStatus> late =
                rows.stream().filter(row -> row.missed(sequence)).toList();
        List<RankStatus> idle =
                late.stream().filter(row -> row.waits().isEmpty()).toList();
        return (idle.isEmpty() ? late : idle)
                .stream().map(RankStatus::rank).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Whether this rank, as far as is known, has not entered the operation. */
    public boolean missed(long sequence) {
        return operation.isEmpty() && lastEntered.of(sequence) < sequence;
    }

    /** One line for the rank, one for each of its waits, and one where its network stalls. */
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
