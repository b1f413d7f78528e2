package io.jccl.init;

import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.internal.Rethrown;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Calls code of others, which may never return: on a thread of its own, which is left behind then. */
final class BoundedCall {

    /** Long for what only computes. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private BoundedCall() {}

    /**
     * Calls it, and waits for it as long as initialisation can spare.
     *
     * @param what is called, for messages
     * @throws JcclException that the call throws, or because it does not return
     */
    static <T> T call(InitContext context, String what, Callable<T> body) {
        Duration half = context.left().dividedBy(2);
        Duration limit = half.compareTo(LIMIT) < 0 ? half : LIMIT;
        FutureTask<T> task = new FutureTask<>(body);
        Threads.start(ServiceThread.once("jccl-plugin", task));
        try {
            return task.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new JcclException(
                    what + " has not returned in " + limit.toMillis() + " ms; its thread jccl-plugin is left behind",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedCommunicationException(what + ": the thread that waits for it was interrupted");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof JcclException ours) {
                throw Rethrown.here(ours);
            }
            throw new JcclException(what + ": " + Causes.describe(e.getCause()), e.getCause());
        }
    }

    /** Whether a call failed because it does not return: its thread may still use what it was given. */
    static boolean isStillInside(JcclException failure) {
        return failure.getCause() instanceof TimeoutException;
    }
}
