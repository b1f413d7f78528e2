package io.jccl.runtime;

import io.jccl.JcclException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;

/**
 * Keeps native code that waits for other ranks off virtual threads. Such a wait would occupy the carrier, and ranks that are
 * virtual threads would wait for ranks that have no carrier left.
 */
final class VirtualThreads {

    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private VirtualThreads() {}

    /** {@code Thread.isVirtual}, or always false where the JDK has no virtual threads. */
    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException beforeJdk21) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }

    /** Whether the calling thread is a virtual one. */
    static boolean isCurrent() {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
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
        FutureTask<T> call = new FutureTask<>(task::get);
        Thread thread = new Thread(call, name);
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return call.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    thread.interrupt();
                }
            }
        } catch (ExecutionException e) {
            throw unchecked(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof RuntimeException e ? e : new JcclException(cause.toString(), cause);
    }
}
