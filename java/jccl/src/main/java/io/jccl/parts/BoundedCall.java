package io.jccl.parts;

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

/**
 * Calls code of plug-ins, which may never return, on a separate thread. Does not wait for a call that takes too long:
 * its thread continues alone.
 */
public final class BoundedCall {

    /** Maximum time of a call: generous, because these calls only compute. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private BoundedCall() {}

    /**
     * Calls {@code body}, and waits for at most half of the time that is left for initialisation, and at most
     * {@link #LIMIT}.
     *
     * @param what names the call in messages
     * @throws JcclException if the call throws, or has not returned in time
     */
    public static <T> T call(InitContext context, String what, Callable<T> body) {
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

    /**
     * Returns true if the call failed because it did not return in time. Its thread may then still use the call's
     * arguments.
     */
    public static boolean isStillInside(JcclException failure) {
        return failure.getCause() instanceof TimeoutException;
    }
}
