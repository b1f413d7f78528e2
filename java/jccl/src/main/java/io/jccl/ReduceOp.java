package io.jccl;

import java.util.Locale;

/** How the values of all ranks are combined. The order of the constants is part of the native interface. */
public enum ReduceOp {
    /** The sum; integers wrap around. */
    SUM,
    /** The product; integers wrap around. */
    PROD,
    /**
     * The smallest value; NaN where a rank has NaN. {@code -0.0} and {@code 0.0} count as equal, unlike in
     * {@link Math#min(float, float)}: where ranks have both, the result is either, the same on all ranks.
     */
    MIN,
    /**
     * The largest value; NaN where a rank has NaN. {@code -0.0} and {@code 0.0} count as equal, unlike in
     * {@link Math#max(float, float)}: where ranks have both, the result is either, the same on all ranks.
     */
    MAX,
    /**
     * The sum divided by the number of ranks. The sum of integers wraps around before it is divided, as in NCCL: with
     * {@link DataType#INT8}, the average of 100 and 100 is -28. Use a type that holds the sum. Integers truncate towards
     * zero.
     */
    AVG,
    /** The bits that are set on all ranks; of integers. */
    BAND,
    /** The bits that are set on any rank; of integers. */
    BOR,
    /** The bits that are set on an odd number of ranks; of integers. */
    BXOR;

    /** Whether it combines elements of a type: all do, but bitwise operations integers only. */
    public boolean supports(DataType type) {
        return switch (this) {
            case BAND, BOR, BXOR -> !type.isFloating();
            default -> true;
        };
    }

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
