package io.jccl;

import io.jccl.internal.Arguments;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A user-defined reduction of buffers in memory of the host: a Java function, or a native one.
 *
 * <p>The function must be associative: ranks apply it to parts of the buffers. Every element is folded on one rank only, so
 * that all ranks receive the same bits. The order is that of the ranks, {@code ((x0 ∘ x1) ∘ x2) ∘ x3}. For a reduction that
 * is {@linkplain #commutative() commutative} it begins with the rank that folds the element: rank 2 of 4 computes {@code
 * ((x2 ∘ x3) ∘ x0) ∘ x1}. Which rank folds an element depends only on the operation, the counts and the number of ranks.
 *
 * <p>All ranks pass reductions of the same name, unit and commutativity; otherwise the operation throws {@link
 * MismatchedCollectiveException}. The name stands for the function, which the library cannot compare.
 *
 * <p>An object of this class may be used by any number of communicators and threads, if its function allows that.
 */
public final class Reduction {

    /**
     * Folds elements of one rank into those of the ranks before it.
     *
     * <p>It is called by the thread that executes the operation: one that waits for it, or the communicator's own. It must not
     * wait for operations of the communicator. What it throws fails the communicator on all ranks.
     */
    @FunctionalInterface
    public interface Function {

        /**
         * Sets every element {@code a} of the accumulator to {@code a ∘ b}, where {@code b} is the element at the same place in
         * {@code next}.
         *
         * @param accumulator direct, in native byte order; its remaining bytes are whole units
         * @param next as many bytes, of the next rank; only read
         */
        void fold(ByteBuffer accumulator, ByteBuffer next);
    }

    private static final int MAX_NAME = 64;

    private final String name;
    private final Function function; // null: the native one
    private final long address;
    private final long context;
    private final boolean commutative;
    private final int unit;

    private Reduction(String name, Function function, long address, long context, boolean commutative, int unit) {
        this.name = name;
        this.function = function;
        this.address = address;
        this.context = context;
        this.commutative = commutative;
        this.unit = unit;
    }

    /**
     * A reduction by a Java function.
     *
     * @param name what it computes, the same on all ranks; 1 to 64 characters
     * @param function folds elements
     */
    public static Reduction of(String name, Function function) {
        String checked = checkedName(name);
        Arguments.required("function", function, "what folds the elements of two buffers");
        return new Reduction(checked, function, 0, 0, false, 1);
    }

    /**
     * A reduction by a native function, {@code void f(const void* next, void* accumulator, int64_t bytes, void* context)}. It
     * must not throw, nor call Java.
     *
     * @param name what it computes, the same on all ranks; 1 to 64 characters
     * @param address of the function, in this process
     * @param context passed to each call; may be 0
     */
    public static Reduction ofNative(String name, long address, long context) {
        String checked = checkedName(name);
        if (address == 0) {
            throw new IllegalArgumentException("address=0: expected the address of a function in this process");
        }
        return new Reduction(checked, null, address, context, false, 1);
    }

    private static String checkedName(String name) {
        String expected = "1 to " + MAX_NAME + " characters, the same on all ranks";
        if (Arguments.required("name", name, expected).isEmpty() || name.length() > MAX_NAME) {
            throw new IllegalArgumentException("name.length=" + name.length() + ": expected " + expected);
        }
        return name;
    }

    /** The same reduction, declared to be commutative: the order of ranks does not matter, which saves a copy. */
    public Reduction commutative() {
        return new Reduction(name, function, address, context, true, unit);
    }

    /**
     * The same reduction over units of several elements, such as pairs of a value and its index: a unit is never divided.
     *
     * @param elements of a unit, at least 1; counts are multiples of it
     */
    public Reduction unit(int elements) {
        if (elements < 1) {
            throw new IllegalArgumentException("elements=" + elements + ": expected 1 or more");
        }
        return new Reduction(name, function, address, context, commutative, elements);
    }

    /** What it computes. */
    public String name() {
        return name;
    }

    /** Whether the order of ranks does not matter. */
    public boolean isCommutative() {
        return commutative;
    }

    /** The elements that are never divided. */
    public int unit() {
        return unit;
    }

    /** The Java function; empty if it is native. */
    public Optional<Function> function() {
        return Optional.ofNullable(function);
    }

    /** The address of the native function; 0 if it is Java. */
    public long address() {
        return address;
    }

    /** What the native function gets with each call. */
    public long context() {
        return context;
    }

    /** For messages: {@code user:argmax}. */
    @Override
    public String toString() {
        return "user:" + name;
    }
}
