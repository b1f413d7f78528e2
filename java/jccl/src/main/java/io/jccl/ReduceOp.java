package io.jccl;

import io.jccl.runtime.Implementation;
import java.util.Locale;

/** How the values of all ranks are combined. The order of the constants is part of the native interface. */
public enum ReduceOp {
    /** The sum; integers wrap around. */
    SUM,
    /** The product; integers wrap around. */
    PROD,
    /**
     * The smallest value; NaN if any rank has NaN. {@code -0.0} and {@code 0.0} count as equal, unlike in {@link
     * Math#min(float, float)}: if ranks have both, the result is one of them, the same on all ranks.
     */
    MIN,
    /**
     * The largest value; NaN if any rank has NaN. {@code -0.0} and {@code 0.0} count as equal, unlike in {@link
     * Math#max(float, float)}: if ranks have both, the result is one of them, the same on all ranks.
     */
    MAX,
    /**
     * The sum divided by the number of ranks. The sum of integers wraps around before the division, as in NCCL: with
     * {@link DataType#INT8}, the average of 100 and 100 is -28. Use a type that can hold the sum. The division of
     * integers truncates towards zero.
     */
    AVG,
    /** Bitwise AND: the bits that are set on all ranks. Integers only. */
    BAND,
    /** Bitwise OR: the bits that are set on any rank. Integers only. */
    BOR,
    /** Bitwise XOR: the bits that are set on an odd number of ranks. Integers only. */
    BXOR;

    /**
     * Returns true if elements of the type can be combined. Bitwise operations combine only integers, the others every
     * type.
     */
    public boolean supports(DataType type) {
        return switch (this) {
            case BAND, BOR, BXOR -> !type.isFloating();
            default -> true;
        };
    }

    /**
     * Combines two buffers of this process without communication: sets each element {@code a} of the accumulator to
     * {@code a op b}, where {@code b} is the element at the same place in {@code next}. Gives the bits that a collective
     * gives whose first rank has the accumulator and whose second rank has {@code next}. (MPI_Reduce_local has the
     * operands in the other order, which matters only for NaNs and for zeros of different sign.)
     *
     * @param accumulator elements in host memory, which this call overwrites
     * @param next as many elements of the same type; the same memory, or separate memory
     * @throws IllegalArgumentException if a buffer does not fit, if this reduction does not support its type, or for
     *     {@link #AVG}
     */
    public void reduceLocal(DataBuffer accumulator, DataBuffer next) {
        Implementation.get().reduceLocal(accumulator, next, this);
    }

    /** Returns the name that the command and messages use, for example {@code sum}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the operation with a name as the command spells it.
     *
     * @param label for example {@code sum}
     * @throws IllegalArgumentException if no operation has this name
     */
    public static ReduceOp parse(String label) {
        return Names.parse(ReduceOp.class, "op", label);
    }
}
