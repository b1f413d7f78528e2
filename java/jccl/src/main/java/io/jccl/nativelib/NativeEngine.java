package io.jccl.nativelib;

import io.jccl.JcclException;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A native communicator whose memory cannot be used after it was freed.
 *
 * <p>Two kinds of calls: operations ({@code run…}, {@code connect}, {@code prepare}) are made by one thread at a time, and
 * that thread's owner sees to it that none is inside when {@link #destroy()} is called; they take no lock. Questions and
 * {@link #abort} may come from any thread at any time; they meet a destroyed engine with a harmless answer.
 */
public final class NativeEngine {

    private static final long[] NOTHING = {};

    private final long handle;
    private final ReadWriteLock lifetime = new ReentrantReadWriteLock();
    private boolean destroyed; // guarded by lifetime

    private NativeEngine(long handle) {
        this.handle = handle;
    }

    /**
     * Creates the native communicator.
     *
     * @param config the values at the indexes that {@link NativeCommunicator} names
     * @param texts likewise
     * @throws JcclException if it cannot be made; says why
     */
    public static NativeEngine create(long[] config, String[] texts) {
        NativeLoader.load();
        long handle = NativeCommunicator.create(config, texts);
        if (handle == 0) {
            throw new JcclException("the native engine cannot be made: " + NativeCommunicator.lastError(0));
        }
        return new NativeEngine(handle);
    }

    /** The handle, for calls that the class comment calls operations. */
    public long handle() {
        return handle;
    }

    /** Runs one collective; see {@link NativeCommunicator#run}. */
    public long run(int operation, long choice, long send, long recv, long count, int root, long timeoutNanos) {
        return NativeCommunicator.run(handle, operation, choice, send, recv, count, root, timeoutNanos);
    }

    /** Runs one collective with a count per rank; see {@link NativeCommunicator#runV}. */
    public long runV(int operation, long choice, long send, long recv, long[] counts, long timeoutNanos) {
        return NativeCommunicator.runV(handle, operation, choice, send, recv, counts, timeoutNanos);
    }

    /** Runs point-to-point transfers together; see {@link NativeCommunicator#runPointToPoint}. */
    public long runPointToPoint(long[] tasks, long timeoutNanos) {
        return NativeCommunicator.runPointToPoint(handle, tasks, timeoutNanos);
    }

    /** Ends every wait inside the engine with {@code code}; returns at once. */
    public void abort(int code) {
        lifetime.readLock().lock();
        try {
            if (!destroyed) {
                NativeCommunicator.abort(handle, code);
            }
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** The text of the last error, or an empty one. */
    public String lastError() {
        lifetime.readLock().lock();
        try {
            String text = destroyed ? null : NativeCommunicator.lastError(handle);
            return text == null ? "" : text;
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** The record of the operation at a sequence number, or an empty array. */
    public long[] history(long sequence) {
        return ask(() -> NativeCommunicator.history(handle, sequence));
    }

    /** The rows of channels that wait now; empty if none does. */
    public long[] waiting() {
        return ask(() -> NativeCommunicator.waiting(handle));
    }

    /** The bytes in use, in the order that {@link NativeCommunicator#memoryUsage} documents. */
    public long[] memoryUsage() {
        return ask(() -> NativeCommunicator.memoryUsage(handle));
    }

    /** The sequence number of the operation entered last, 0 before the first. */
    public long lastEntered() {
        lifetime.readLock().lock();
        try {
            return destroyed ? 0 : NativeCommunicator.lastEntered(handle);
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** The sequence number of the operation done last, 0 before the first. */
    public long lastDone() {
        lifetime.readLock().lock();
        try {
            return destroyed ? 0 : NativeCommunicator.lastDone(handle);
        } finally {
            lifetime.readLock().unlock();
        }
    }

    /** Frees the native communicator. No operation may be inside; a second call does nothing. */
    public void destroy() {
        lifetime.writeLock().lock();
        try {
            if (!destroyed) {
                destroyed = true;
                NativeCommunicator.destroy(handle);
            }
        } finally {
            lifetime.writeLock().unlock();
        }
    }

    private long[] ask(java.util.function.Supplier<long[]> question) {
        lifetime.readLock().lock();
        try {
            long[] answer = destroyed ? null : question.get();
            return answer == null ? NOTHING : answer;
        } finally {
            lifetime.readLock().unlock();
        }
    }
}
