package io.jccl.runtime;

import io.jccl.internal.Rethrown;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Supplier;

/**
 * Keeps native code that waits for other ranks off virtual threads. Such a wait would occupy the carrier, and ranks that are
 * virtual threads would wait for ranks that have no carrier left.
 */
final class VirtualThreads {

    private static final long MIN_SLEEP_NANOS = 50_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;

    private static final MethodHandle IS_VIRTUAL = isVirtual(); // null where the JDK has no virtual threads

    private VirtualThreads() {}

    /** {@code Thread.isVirtual}, or null before JDK 21. */
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

    /** Whether the calling thread is a virtual one. */
    static boolean isCurrent() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }

    /**
     * Calls a task on a platform thread: the calling thread itself, or a new one that a virtual thread waits for. An
     * interrupt of the waiting thread interrupts the task.
     *
     * @param name of the new thread
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

    /** The outcome of a task. Nothing is allocated for it when the task has ended. */
    private static final class Outcome<T> {

        private T result; // published by isThere, as the next
        private Throwable thrown;
        private volatile boolean isThere;

        void end(Throwable problem) {
            thrown = problem;
            isThere = true;
        }
    }
}
