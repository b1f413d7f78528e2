package io.jccl.nativelib;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts the threads that use a native object, so that the object is freed only when no thread does. Any thread may
 * call any method. Used instead of a JDK lock, which could stay held when the heap is full.
 */
final class Users {

    private static final int ENDED = Integer.MIN_VALUE;
    private static final long POLL_NANOS = 50_000;

    private final AtomicInteger state = new AtomicInteger(); // number of threads, plus ENDED after end()

    /** Returns false after {@link #end}; otherwise the caller calls {@link #leave}. */
    boolean enter() {
        for (int threads = state.get(); threads >= 0; threads = state.get()) {
            if (state.compareAndSet(threads, threads + 1)) {
                return true;
            }
        }
        return false;
    }

    void leave() {
        state.getAndDecrement();
    }

    /** Lets no further thread enter. Returns false if an earlier call has done so. */
    boolean end() {
        return state.getAndAccumulate(ENDED, (threads, bit) -> threads | bit) >= 0;
    }

    /** Waits after {@link #end} until no thread uses the object. Allocates nothing. */
    void awaitNone() {
        while (state.get() != ENDED) {
            LockSupport.parkNanos(this, POLL_NANOS); // calls are short, or have been told to end
        }
    }
}
