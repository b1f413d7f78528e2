package io.jccl.nativelib;

import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A native communicator whose memory cannot be used after it was freed: questions and {@link #abort} may come from any thread
 * at any time, and meet a harmless answer after {@link #destroy}.
 */
public abstract sealed class Engine permits NativeEngine, DeviceEngine {

    private static final long[] NOTHING = {};

    final long handle;
    private final ReadWriteLock lifetime = new ReentrantReadWriteLock();
    private boolean destroyed; // guarded by lifetime

    Engine(long handle) {
        this.handle = handle;
    }

    /** Sets the ring of a channel; see {@link NativeCommunicator#setRing}. */
    public abstract void setRing(int channel, int[] order);

    /** Sets this rank's place in the tree of a channel; see {@link NativeCommunicator#setTree}. */
    public abstract void setTree(int channel, int up, int[] down);

    /** Ends every wait inside with {@code code}; returns at once. */
    public final void abort(int code) {
        lifetime.readLock().lock();
        try {
            if (!destroyed) {
                abortNow(code);
            }
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** The text of the last error, or an empty one. */
    public final String lastError() {
        return answer("", this::error);
    }

    /** The rows of channels that wait now; empty if none does. See {@link NativeCommunicator#waiting}. */
    public final long[] waiting() {
        return rows(this::waits);
    }

    /** The record of the operation at a sequence number, or an empty array. See {@link NativeCommunicator#history}. */
    public final long[] history(long sequence) {
        return rows(() -> record(sequence));
    }

    /** The record of a group of sends and receives, or an empty array. See {@link NativeCommunicator#transfers}. */
    public final long[] transfers(long number) {
        return rows(() -> transfersRecord(number));
    }

    /** The number of the group of sends and receives that has begun last, 0 before the first. */
    public final long lastTransfers() {
        return ask(0, this::transfersBegun);
    }

    /** The sequence number of the operation entered last, 0 before the first. */
    public final long lastEntered() {
        return ask(0, this::entered);
    }

    /** The sequence number of the operation done last, 0 before the first. */
    public final long lastDone() {
        return ask(0, this::done);
    }

    /** Frees everything; a second call does nothing. */
    public final void destroy() {
        lifetime.writeLock().lock();
        try {
            if (!destroyed) {
                destroyed = true;
                free();
            }
        } finally {
            lifetime.writeLock().unlock();
        }
    }

    /** The answer to a question, or another where it is null or the engine destroyed. */
    final <T> T answer(T otherwise, Supplier<T> question) {
        lifetime.readLock().lock();
        try {
            T answer = destroyed ? null : question.get();
            return answer == null ? otherwise : answer;
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** A number, or another once the engine is destroyed. */
    final long ask(long otherwise, LongSupplier question) {
        lifetime.readLock().lock();
        try {
            return destroyed ? otherwise : question.getAsLong();
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** Rows, none once the engine is destroyed. */
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
