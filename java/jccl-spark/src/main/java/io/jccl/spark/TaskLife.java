package io.jccl.spark;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.PeerFailedException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskFailureListener;
import org.jspecify.annotations.Nullable;

/**
 * Ends a task's communicator with the task. The operations of all ranks fail at once when the task ends by an error, or
 * when Spark kills it. Spark kills the tasks of a stage that has failed or was cancelled.
 *
 * <p>Spark marks a task that it kills, and interrupts it only if {@code spark.job.interruptOnCancel} is set. A daemon
 * thread looks for the mark, because the task's own thread may wait for other ranks.
 */
final class TaskLife implements TaskCompletionListener, TaskFailureListener {

    private static final long POLL_MILLIS = 20;

    /**
     * Longest time in ms that a rank waits after it has failed because of another rank. Spark then learns of the other
     * rank's error first.
     */
    private static final long ROOT_CAUSE_MILLIS = 2_000;

    private final TaskContext context;
    private final Thread task = Thread.currentThread();
    private final CountDownLatch ended = new CountDownLatch(1);
    private @Nullable Communicator comm; // guarded by this object; null until initialised
    private boolean initialising; // guarded by this

    private TaskLife(TaskContext context) {
        this.context = context;
    }

    /** Begins to watch the task of the calling thread. */
    static TaskLife begin(TaskContext context) {
        TaskLife life = new TaskLife(context);
        context.addTaskFailureListener(life);
        context.addTaskCompletionListener(life);
        Thread watch = new Thread(life::watch, "jccl-task-" + context.taskAttemptId());
        watch.setDaemon(true);
        watch.start();
        return life;
    }

    /** Initialises the communicator. If the task is killed meanwhile, the initialisation is interrupted. */
    Communicator initialise(Supplier<Communicator> initialisation) {
        synchronized (this) {
            initialising = true;
        }
        Communicator initialised = null;
        try {
            initialised = initialisation.get();
        } finally {
            synchronized (this) {
                initialising = false;
                comm = initialised;
            }
        }
        return initialised;
    }

    private void watch() {
        try {
            while (!ended.await(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                if (context.isInterrupted()) {
                    endWait();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** If the task waits for other ranks, ends its wait: interrupts the initialisation, or aborts the communicator. */
    private synchronized void endWait() {
        if (initialising) {
            task.interrupt();
        } else if (comm != null) {
            comm.abort("its task was killed");
        }
    }

    @Override
    public void onTaskFailure(TaskContext failed, Throwable error) {
        Communicator mine = communicator();
        if (mine == null) {
            return;
        }
        mine.abort("its task failed: " + error);
        if (isFromAnotherRank(error)) {
            awaitKill();
        }
    }

    /** Returns true if the error, or a cause of it, results from the failure of another rank. */
    private static boolean isFromAnotherRank(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof PeerFailedException || cause instanceof AbortedException) {
                return true;
            }
        }
        return false;
    }

    /**
     * Waits until Spark kills this task, for at most {@link #ROOT_CAUSE_MILLIS}. Spark reports the error of the first
     * task that fails, and kills the other tasks. This task failed because of another rank, so it lets that rank's
     * task fail first: the user needs the error that is the cause.
     */
    private void awaitKill() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ROOT_CAUSE_MILLIS);
        try {
            while (!context.isInterrupted() && System.nanoTime() < deadline) {
                Thread.sleep(POLL_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void onTaskCompletion(TaskContext completed) {
        ended.countDown();
        Communicator mine = communicator();
        if (mine != null) {
            mine.close();
        }
    }

    private synchronized @Nullable Communicator communicator() {
        return comm;
    }
}
