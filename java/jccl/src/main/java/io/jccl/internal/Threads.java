package io.jccl.internal;

import io.jccl.JcclException;
import java.util.Optional;
import java.util.function.Supplier;

/** Starts threads. The system may refuse one, which the JVM reports as an {@link OutOfMemoryError}. */
public final class Threads {

    private Threads() {}

    /**
     * Starts a thread without which its owner cannot work.
     *
     * @throws JcclException if the thread cannot be started; names the limits of threads
     */
    public static void start(Thread thread) {
        Optional<JcclException> refused = tryStart(thread);
        if (refused.isPresent()) {
            throw refused.get();
        }
    }

    /**
     * Starts a thread without which its owner works with less function.
     *
     * @return why the thread cannot be started, for a warning; empty if it was started
     */
    public static Optional<JcclException> tryStart(Thread thread) {
        try {
            thread.start();
            return Optional.empty();
        } catch (OutOfMemoryError e) {
            return Optional.of(refused("thread=" + thread.getName(), e));
        }
    }

    /**
     * Makes an object that starts a thread itself.
     *
     * @param what names the object in messages
     * @throws JcclException if the thread cannot be started; names the limits of threads
     */
    public static <T> T startedBy(String what, Supplier<T> make) {
        try {
            return make.get();
        } catch (OutOfMemoryError e) {
            throw refused(what, e);
        }
    }

    private static JcclException refused(String what, OutOfMemoryError refusal) {
        return new JcclException(what + ": cannot be started: " + Causes.describe(refusal), refusal);
    }
}
