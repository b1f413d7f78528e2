package io.jccl.nativelib;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A native communicator whose memory cannot be used after it was freed: questions and {@link #abort} may come from any thread
 * at any time, and meet a harmless answer after {@link #destroy}.
 */
public abstract sealed class Engine permits NativeEngine, DeviceEngine {

    private static final long[] NOTHING = {};

    private static final int DESTROYED = Integer.MIN_VALUE;
    private static final long POLL_NANOS = 50_000;

    final long handle;

    /** The number of threads inside, and DESTROYED. A lock of the JDK stays held where it finds no memory in the heap. */
    private final AtomicInteger inside = new AtomicInteger();

    Engine(long handle) {
        this.handle = handle;
    }

    /** Sets the ring of a channel; see {@link NativeCommunicator#setRing}. */
    public abstract void setRing(int channel, int[] order);

    /** Sets this rank's place in the tree of a channel; see {@link NativeCommunicator#setTree}. */
    public abstract void setTree(int channel, int up, int[] down);

    /** Returns false once the engine is destroyed; otherwise the caller calls {@link #leave}. */
    private boolean enter() {
        for (int threads = inside.get(); threads >= 0; threads = inside.get()) {
            if (inside.compareAndSet(threads, threads + 1)) {
                return true;
            }
        }
        return false;
    }

    private void leave() {
        inside.getAndDecrement();
    }

    /** Ends every wait inside with {@code code}; returns at once and allocates nothing. */
    public final void abort(int code) {
        if (enter()) {
            try {
                abortNow(code);
            } finally {
                leave();
            }
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

    /** The sequence number of the operation entered last, 0 before the first. Allocates nothing. */
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

    /** The sequence number of the operation done last, 0 before the first. */
    public final long lastDone() {
        return ask(0, this::done);
    }

    /** Frees everything once no thread is inside; a second call does nothing. */
    public final void destroy() {
        if (inside.getAndAccumulate(DESTROYED, (threads, bit) -> threads | bit) < 0) {
            return;
        }
        while (inside.get() != DESTROYED) {
            LockSupport.parkNanos(this, POLL_NANOS); // questions are short
        }
        free();
    }

    /** The answer to a question, or another where it is null or the engine destroyed. */
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

    /** A number, or another once the engine is destroyed. */
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
