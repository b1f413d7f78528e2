package io.jccl;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The call of one rank at one sequence number: a row of the table that an exception shows.
 *
 * @param rank the rank
 * @param sequence the sequence number of the operation on the communicator, from 1
 * @param state how far the rank has come; the components below have no meaning if it is {@link State#ABSENT}
 * @param collective the operation that the rank entered, or null
 * @param type the element type, or null if the collective has none
 * @param op the reduction, or null if the collective has none or it is user-defined
 * @param count the count as the collective defines it, in elements
 * @param root the root, or 0 for collectives without one
 * @param wire the format between hosts, for example {@code int8_block}; empty if the operation is exact
 */
public record RankOperation(
        int rank,
        long sequence,
        State state,
        @Nullable Collective collective,
        @Nullable DataType type,
        @Nullable ReduceOp op,
        long count,
        int root,
        String wire) {

    /** Creates the row of an exact operation. */
    public RankOperation(
            int rank,
            long sequence,
            State state,
            @Nullable Collective collective,
            @Nullable DataType type,
            @Nullable ReduceOp op,
            long count,
            int root) {
        this(rank, sequence, state, collective, type, op, count, root, "");
    }

    /** How far a rank has come in an operation. The order of the constants is part of the native interface. */
    public enum State {
        /** The rank has not entered the operation. */
        ABSENT,
        /** The rank has entered the operation, which has not ended. */
        RUNNING,
        /** The operation has ended with success. */
        DONE,
        /** The operation has failed. */
        FAILED;

        /** Returns the word that messages use, for example {@code running}. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Returns the row of a rank that never entered the operation. */
    public static RankOperation absent(int rank, long sequence) {
        return new RankOperation(rank, sequence, State.ABSENT, null, null, null, 0, 0);
    }

    /** Returns true if the rank has entered the operation. */
    public boolean entered() {
        return state != State.ABSENT;
    }

    /**
     * Returns the row as one line of text: {@code rank=2 sequence=7 all_reduce(type=float32 op=sum count=1024)
     * running}.
     */
    public String describe() {
        return "rank=" + rank + " sequence=" + sequence + " " + call() + (entered() ? " " + state.label() : "");
    }

    /** Returns the call as text: {@code all_reduce(type=float32 op=sum count=1024)}, or {@code never entered}. */
    public String call() {
        if (!entered()) {
            return "never entered";
        }
        StringBuilder text = new StringBuilder(96);
        text.append(collective == null ? "unknown" : collective.label()).append('(');
        if (type != null) {
            text.append("type=").append(type.label()).append(' ');
        }
        if (op != null) {
            text.append("op=").append(op.label()).append(' ');
        } else if (collective != null && collective.reduces()) {
            text.append("op=user ");
        }
        text.append("count=").append(count);
        if (collective != null && collective.hasRoot()) {
            text.append(" root=").append(root);
        }
        if (!wire.isEmpty()) {
            text.append(" wire=").append(wire);
        }
        return text.append(')').toString();
    }
}
