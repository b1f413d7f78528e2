package io.jccl.internal;

import java.util.Optional;

/** Code that runs when the JVM ends, until it is removed. */
public final class ExitHook {

    private final Thread thread;

    private ExitHook(Thread thread) {
        this.thread = thread;
    }

    /** Registers code under a thread name; empty if the JVM is ending already. */
    public static Optional<ExitHook> add(String name, Runnable code) {
        Thread thread = SharedThreads.create(() -> ServiceThread.once(name, code));
        try {
            Runtime.getRuntime().addShutdownHook(thread);
            return Optional.of(new ExitHook(thread));
        } catch (IllegalStateException e) {
            return Optional.empty();
        }
    }

    /** Removes the code, unless the JVM is ending: then it runs. */
    public void remove() {
        try {
            Runtime.getRuntime().removeShutdownHook(thread);
        } catch (IllegalStateException e) {
            // The JVM is ending, and the code runs.
        }
    }
}
