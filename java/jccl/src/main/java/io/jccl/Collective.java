package io.jccl;

import java.util.Locale;

/**
 * The operations that ranks perform together. The order of the constants is part of the native interface.
 *
 * <p>The v-forms, which have a count for each rank, have no constants of their own: {@code allGatherV} is an {@link
 * #ALL_GATHER}.
 */
public enum Collective {
    /** Every rank ends with the reduction of all ranks' buffers. */
    ALL_REDUCE,
    /** The root ends with the reduction of all ranks' buffers. */
    REDUCE,
    /** Every rank ends with the root's buffer. */
    BROADCAST,
    /** Every rank ends with the buffers of all ranks, in rank order. */
    ALL_GATHER,
    /** Every rank ends with its own shard of the reduction of all ranks' buffers. */
    REDUCE_SCATTER,
    /** Every rank sends a different block to every rank. */
    ALL_TO_ALL,
    /** The root ends with the buffers of all ranks, in rank order. */
    GATHER,
    /** Every rank ends with its own block of the root's buffer. */
    SCATTER,
    /** Point-to-point transfers, alone or in a group. */
    SEND_RECV,
    /** No rank leaves before every rank has entered. */
    BARRIER,
    /** Every rank ends with the reduction of the buffers of all lower ranks and its own. */
    SCAN,
    /** Every rank but the first ends with the reduction of the buffers of all lower ranks. */
    EXSCAN;

    /** Returns the name that the command and messages use, for example {@code all_reduce}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the collective with a name as the command spells it.
     *
     * @param label for example {@code all_reduce}; case does not matter and {@code -} may stand for {@code _}
     * @throws IllegalArgumentException if no collective has this name
     */
    public static Collective parse(String label) {
        return Names.parse(Collective.class, "collective", label);
    }

    /** Returns true if the operation combines values and therefore needs a {@link ReduceOp}. */
    public boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER || this == SCAN || this == EXSCAN;
    }

    /** Returns true if the operation names a root. */
    public boolean hasRoot() {
        return this == REDUCE || this == BROADCAST || this == GATHER || this == SCATTER;
    }
}
