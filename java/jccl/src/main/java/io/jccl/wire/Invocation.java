package io.jccl.wire;

import io.jccl.BootstrapException;
import io.jccl.internal.Rethrown;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A task that runs on one thread while another waits for it. Its end allocates nothing, so that a full heap does not
 * leave the other thread waiting.
 */
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
                throw error; // thrown again, so that the thread which runs the task handles the error, too
            }
        } finally {
            done.countDown();
        }
    }

    /**
     * Waits until the given thread has run the task. Interrupts do not end the wait.
     *
     * @throws RuntimeException the exception that the task has thrown, with the stack of this caller
     * @throws BootstrapException if the thread has ended without running the task
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
