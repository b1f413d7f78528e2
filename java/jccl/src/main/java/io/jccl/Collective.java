package io.jccl;

import java.util.Locale;

/**
 * The operations that ranks perform together. The order of the constants is part of the native interface.
 *
 * <p>The v-forms (all-gather, reduce-scatter and all-to-all with a count per rank) are the same collective.
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
    BARRIER;

    /** The name used by the command and in messages, for example {@code all_reduce}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The collective of a name as the command spells it.
     *
     * @param label for example {@code all_reduce}; case does not matter and {@code -} may stand for {@code _}
     * @throws IllegalArgumentException if no collective has this name
     */
    public static Collective parse(String label) {
        return Names.parse(Collective.class, "collective", label);
    }

    /** Whether the operation combines values and therefore takes a {@link ReduceOp}. */
    public boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    /** Whether one rank has a special part. */
    public boolean hasRoot() {
        return this == REDUCE || this == BROADCAST || this == GATHER || this == SCATTER;
    }
}
