package io.jccl.nativelib;

import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A native engine, guarded against use after it was freed. Any thread may call {@link #abort} and the query methods at
 * any time; after {@link #destroy} the queries return an empty answer.
 */
public abstract sealed class Engine permits NativeEngine, DeviceEngine {

    private static final long[] NOTHING = {};

    final long handle;

    private final Users inside = new Users();

    Engine(long handle) {
        this.handle = handle;
    }

    /**
     * Sets the ring of a channel.
     *
     * @param order every rank once, in the order of the ring, starting anywhere
     */
    public abstract void setRing(int channel, int[] order);

    /**
     * Sets this rank's place in the tree of a channel.
     *
     * @param up parent, -1 for the root
     * @param down children, at most 3
     */
    public abstract void setTree(int channel, int up, int[] down);

    /** Returns false once the engine is destroyed; otherwise the caller calls {@link #leave}. */
    final boolean enter() {
        return inside.enter();
    }

    final void leave() {
        inside.leave();
    }

    /** Ends every wait inside the engine, present and future, with a code. Returns at once and allocates nothing. */
    public final void abort(int code) {
        if (enter()) {
            try {
                abortNow(code);
            } finally {
                leave();
            }
        }
    }

    /** Returns the reason of the last failure; empty if there was none. */
    public final String lastError() {
        return answer("", this::error);
    }

    /** Returns rows of {@link Rows#WAIT_LENGTH}, one for each channel whose wait has become long. */
    public final long[] waiting() {
        return rows(this::waits);
    }

    /** Returns the record of an operation, a row of {@link Rows#HISTORY_LENGTH}; empty if it is not on record. */
    public final long[] history(long sequence) {
        return rows(() -> record(sequence));
    }

    /**
     * Returns the record of a group of sends and receives, a row of {@link Rows#TRANSFERS_LENGTH}; empty if it is not
     * on record.
     */
    public final long[] transfers(long number) {
        return rows(() -> transfersRecord(number));
    }

    /** Returns the number of the group of sends and receives that began last; 0 before the first. */
    public final long lastTransfers() {
        return ask(0, this::transfersBegun);
    }

    /** Returns the sequence number of the operation entered last; 0 before the first. Allocates nothing. */
    public final long lastEntered() {
        if (!enter()) {
            return 0;
        }
        try {
            return entered();
        } finally {
            leave();
        }
    }

    /** Returns the sequence number of the operation done last; 0 before the first. */
    public final long lastDone() {
        return ask(0, this::done);
    }

    /** Frees everything once no thread is inside; a second call does nothing. */
    public final void destroy() {
        if (inside.end()) {
            inside.awaitNone();
            free();
        }
    }

    /** Returns the answer to a question; {@code otherwise} if the answer is null or the engine is destroyed. */
    final <T> T answer(T otherwise, Supplier<T> question) {
        if (!enter()) {
            return otherwise;
        }
        try {
            T answer = question.get();
            return answer == null ? otherwise : answer;
        } finally {
            leave();
        }
    }

    /** Returns the answer to a question; {@code otherwise} once the engine is destroyed. */
    final long ask(long otherwise, LongSupplier question) {
        if (!enter()) {
            return otherwise;
        }
        try {
            return question.getAsLong();
        } finally {
            leave();
        }
    }

    /** Returns the answer to a question; an empty array once the engine is destroyed. */
    final long[] rows(Supplier<long[]> question) {
        return answer(NOTHING, question);
    }

    abstract void abortNow(int code);

    abstract String error();

    abstract long[] waits();

    abstract long[] record(long sequence);

    abstract long[] transfersRecord(long number);

    abstract long transfersBegun();

    abstract long entered();

    abstract long done();

    abstract void free();
}
