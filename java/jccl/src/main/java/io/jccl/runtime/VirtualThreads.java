package io.jccl.runtime;

import io.jccl.internal.Rethrown;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Keeps native code that waits for other ranks off virtual threads. Such a wait occupies the carrier thread, so ranks
 * on virtual threads could wait for ranks that get no carrier.
 */
final class VirtualThreads {

    private static final long PAUSE_NANOS = 100_000;
    private static final long MIN_SLEEP_NANOS = 50_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;

    private static final MethodHandle IS_VIRTUAL = isVirtual(); // null if the JDK has no virtual threads

    private VirtualThreads() {}

    /** Returns a handle of {@code Thread.isVirtual}; null before JDK 21. */
    private static MethodHandle isVirtual() {
        if (Runtime.version().feature() < 21) {
            return null;
        }
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** Returns true if the calling thread is virtual. */
    static boolean isCurrent() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Pauses a virtual thread that must not hold its carrier between two looks. */
    static void pause(Object blocker) {
        LockSupport.parkNanos(blocker, PAUSE_NANOS);
    }

    /**
     * Calls a task on a platform thread: the calling thread itself, or a new one that a virtual thread waits for. An
     * interrupt of the waiting thread interrupts the task.
     *
     * @param name name of the new thread
     */
    static <T> T callOnPlatformThread(String name, Supplier<T> task) {
        if (!isCurrent()) {
            return task.get();
        }
        Outcome<T> outcome = new Outcome<>();
        Thread thread = ServiceThread.once(name, () -> outcome.result = task.get(), outcome::end);
        Threads.start(thread);
        try (IdleStrategy idle =
                new IdleStrategy(Deadlines.NONE, 0, MIN_SLEEP_NANOS, MAX_SLEEP_NANOS, thread::interrupt)) {
            while (!outcome.isThere) {
                idle.checkInterrupt();
                idle.idle();
            }
        }
        if (outcome.thrown != null) {
            throw Rethrown.byCallee(outcome.thrown);
        }
        return outcome.result;
    }

    /** The outcome of a task. Exists before the task ends, because there may be no memory then. */
    private static final class Outcome<T> {

        private T result; // published by isThere, like the next field
        private Throwable thrown;
        private volatile boolean isThere;

        void end(Throwable problem) {
            thrown = problem;
            isThere = true;
        }
    }
}
