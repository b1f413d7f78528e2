package io.jccl.runtime;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A future of an operation. A thread that waits for it polls the operation for a moment before it sleeps: most
 * operations take less time than waking two threads.
 */
final class OperationFuture extends CallerFuture<Void> {

    private static final long POLL_NANOS = 100_000;
    private static final int SPINS = 20; // polls before the thread yields between polls

    private final OperationWork work;

    OperationFuture(OperationWork work) {
        this.work = work;
    }

    @Override
    public Void join() {
        poll();
        return super.join();
    }

    @Override
    public Void get() throws InterruptedException, ExecutionException {
        poll();
        return super.get();
    }

    @Override
    public Void get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        if (unit.toNanos(timeout) > POLL_NANOS) {
            poll();
        }
        return super.get(timeout, unit);
    }

    private void poll() {
        if (isDone()) {
            return;
        }
        long end = System.nanoTime() + POLL_NANOS;
        for (int polls = 0; !work.isDone(); polls++) {
            if (System.nanoTime() - end >= 0) {
                work.handOver();
                return;
            }
            if (polls < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        end(work.failureOrNull());
    }

    /** Completes this future. The exception is wrapped as in {@code CompletableFuture.copy}. */
    void end(Throwable failure) {
        if (failure == null) {
            complete(null);
        } else {
            completeExceptionally(new CompletionException(failure));
        }
    }
}
