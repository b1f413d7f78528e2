package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.internal.Rethrown;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A task for which another thread waits. Its end allocates nothing, so that a full heap leaves nobody waiting. */
final class Invocation implements Runnable {

    private static final long LOOK_MILLIS = 100;

    private final Runnable task;
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile Throwable thrown;

    Invocation(Runnable task) {
        this.task = task;
    }

    @Override
    public void run() {
        try {
            task.run();
        } catch (Throwable e) {
            thrown = e;
            if (e instanceof Error error) {
                throw error; // also concerns the thread
            }
        } finally {
            done.countDown();
        }
    }

    /**
     * Waits, through interrupts, until a thread has run the task.
     *
     * @throws RuntimeException that the task has thrown, with the stack of this caller
     * @throws BootstrapException if the thread has ended before
     */
    void await(Thread thread) {
        boolean interrupted = false;
        boolean isDone = false;
        boolean mayRun = true;
        while (!isDone && mayRun) {
            mayRun = thread.isAlive();
            try {
                isDone = done.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!isDone) {
            throw new BootstrapException("thread=" + thread.getName() + " has ended, so it cannot do anything more");
        }
        if (thrown != null) {
            throw Rethrown.byCallee(thrown);
        }
    }
}
