package io.jccl.internal;

import io.jccl.JcclException;
import java.util.Optional;
import java.util.function.Supplier;

/** Starts threads where the system may refuse one, which the JVM reports as an {@link OutOfMemoryError}. */
public final class Threads {

    private Threads() {}

    /**
     * Starts a thread without which its owner cannot work.
     *
     * @throws JcclException if there is none; names the limits of threads
     */
    public static void start(Thread thread) {
        Optional<JcclException> refused = tryStart(thread);
        if (refused.isPresent()) {
            throw refused.get();
        }
    }

    /**
     * Starts a thread without which its owner does something less.
     *
     * @return why there is none, for a warning, or nothing
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
     * Makes what starts a thread of its own.
     *
     * @param what for messages
     * @throws JcclException if there is none; names the limits of threads
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
