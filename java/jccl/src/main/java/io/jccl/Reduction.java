package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.runtime.Implementation;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A user-defined reduction of buffers in host memory, by a Java function or a native function.
 *
 * <p>The function must be associative, because ranks apply it to parts of the buffers. Every element is folded on only
 * one rank, so all ranks receive the same bits. Values are folded in rank order: {@code ((x0 ∘ x1) ∘ x2) ∘ x3}. If the
 * reduction is {@linkplain #commutative() commutative}, folding begins with the rank that folds the element: rank 2 of
 * 4 computes {@code ((x2 ∘ x3) ∘ x0) ∘ x1}. Which rank folds an element depends only on the operation, the counts and
 * the number of ranks.
 *
 * <p>All ranks must pass reductions with the same name, unit and commutativity; otherwise the operation throws {@link
 * MismatchedCollectiveException}. The name stands for the function, because the library cannot compare functions.
 *
 * <p>Any number of communicators and threads may use an object of this class, if its function allows that.
 */
public final class Reduction {

    /**
     * Folds the elements of one rank into those of the ranks before it.
     *
     * <p>The thread that executes the operation calls the function: a thread that waits for the operation, or the
     * communicator's thread. The function must not wait for operations of the communicator. An exception that it throws
     * fails the communicator on all ranks.
     */
    @FunctionalInterface
    public interface Function {

        /**
         * Sets every element {@code a} of the accumulator to {@code a ∘ b}, where {@code b} is the element at the same
         * place in {@code next}.
         *
         * @param accumulator a direct buffer in native byte order; its remaining bytes are whole units
         * @param next the elements of the next rank, as many bytes; must not be written
         */
        void fold(ByteBuffer accumulator, ByteBuffer next);
    }

    private static final int MAX_NAME = 64;

    private final String name;
    private final Function function; // null for a native function
    private final long address;
    private final long context;
    private final boolean commutative;
    private final int unit;
    private final DataType type; // null if the function folds elements of any type

    private Reduction(
            String name, Function function, long address, long context, boolean commutative, int unit, DataType type) {
        this.name = name;
        this.function = function;
        this.address = address;
        this.context = context;
        this.commutative = commutative;
        this.unit = unit;
        this.type = type;
    }

    /**
     * Returns a reduction by a Java function.
     *
     * @param name what the function computes, the same on all ranks; 1 to 64 characters
     * @param function folds elements
     */
    public static Reduction of(String name, Function function) {
        String checked = checkedName(name);
        Arguments.required("function", function, "what folds the elements of two buffers");
        return new Reduction(checked, function, 0, 0, false, 1, null);
    }

    /**
     * Returns a reduction by a native function, {@code void f(const void* next, void* accumulator, int64_t bytes, void*
     * context)}. The function must not throw or call Java.
     *
     * @param name what the function computes, the same on all ranks; 1 to 64 characters
     * @param address the address of the function in this process
     * @param context passed to each call; may be 0
     */
    public static Reduction ofNative(String name, long address, long context) {
        String checked = checkedName(name);
        if (address == 0) {
            throw new IllegalArgumentException("address=0: expected the address of a function in this process");
        }
        return new Reduction(checked, null, address, context, false, 1, null);
    }

    /**
     * Returns the minimum with its index (MPI_MINLOC). The elements of a buffer are pairs of a value and its index, both
     * of the given type. Of equal values, the smaller index wins. Floating-point numbers have the order of {@link
     * Double#compare}: NaN is larger than all others, and -0 is smaller than 0.
     *
     * @param type an integer type, {@link DataType#FLOAT32} or {@link DataType#FLOAT64}
     */
    public static Reduction minWithIndex(DataType type) {
        return withIndex(type, false);
    }

    /**
     * Returns the maximum with its index (MPI_MAXLOC); otherwise like {@link #minWithIndex}.
     *
     * @param type an integer type, {@link DataType#FLOAT32} or {@link DataType#FLOAT64}
     */
    public static Reduction maxWithIndex(DataType type) {
        return withIndex(type, true);
    }

    private static Reduction withIndex(DataType type, boolean isMax) {
        Arguments.required("type", type, "the type of the values and indices");
        IndexedExtreme function = new IndexedExtreme(type, isMax);
        return new Reduction(function.name(), function, 0, 0, true, 2, type);
    }

    private static String checkedName(String name) {
        String expected = "1 to " + MAX_NAME + " characters, the same on all ranks";
        if (Arguments.required("name", name, expected).isEmpty() || name.length() > MAX_NAME) {
            throw new IllegalArgumentException("name.length=" + name.length() + ": expected " + expected);
        }
        return name;
    }

    /** Returns this reduction, declared commutative: ranks may be folded in another order, which saves a copy. */
    public Reduction commutative() {
        return new Reduction(name, function, address, context, true, unit, type);
    }

    /**
     * Returns this reduction over units of several elements, such as pairs of a value and its index. A unit is never
     * divided.
     *
     * @param elements the number of elements in a unit, at least 1; counts must be multiples of it
     */
    public Reduction unit(int elements) {
        if (elements < 1) {
            throw new IllegalArgumentException("elements=" + elements + ": expected 1 or more");
        }
        return new Reduction(name, function, address, context, commutative, elements, type);
    }

    /**
     * Combines two buffers of this process without communication: folds the elements of {@code next} into those of the
     * accumulator. An exception of the function ends this call; the accumulator then contains some results.
     *
     * @param accumulator elements in host memory, a multiple of the unit
     * @param next as many elements of the same type; the same memory, or separate memory
     * @throws IllegalArgumentException if a buffer does not fit
     */
    public void reduceLocal(DataBuffer accumulator, DataBuffer next) {
        Implementation.get().reduceLocal(accumulator, next, this);
    }

    /** Returns the name, which says what the function computes. */
    public String name() {
        return name;
    }

    /** Returns true if ranks may be folded in another order. */
    public boolean isCommutative() {
        return commutative;
    }

    /** Returns the number of elements in a unit, which is never divided. */
    public int unit() {
        return unit;
    }

    /** Returns the only type whose elements the function folds; empty if it can fold any. */
    public Optional<DataType> type() {
        return Optional.ofNullable(type);
    }

    /** Returns the Java function; empty for a native function. */
    public Optional<Function> function() {
        return Optional.ofNullable(function);
    }

    /** Returns the address of the native function; 0 for a Java function. */
    public long address() {
        return address;
    }

    /** Returns the value that is passed to each call of the native function. */
    public long context() {
        return context;
    }

    /** Returns the text that messages use, for example {@code user:argmax}. */
    @Override
    public String toString() {
        return "user:" + name;
    }
}
