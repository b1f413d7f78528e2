package io.jccl;

import java.util.Locale;

/** How the values of all ranks are combined. The order of the constants is part of the native interface. */
public enum ReduceOp {
    /** The sum; integers wrap around. */
    SUM,
    /** The product; integers wrap around. */
    PROD,
    /** The smallest value. */
    MIN,
    /** The largest value. */
    MAX,
    /** The sum divided by the number of ranks; integers truncate towards zero. */
    AVG;

    /** The name used by the command and in messages, for example {@code sum}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The operation of a name as the command spells it.
     *
     * @param label for example {@code sum}
     * @throws IllegalArgumentException if no operation has this name
     */
    public static ReduceOp parse(String label) {
        return Names.parse(ReduceOp.class, "op", label);
    }
}
