package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.internal.Rethrown;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Initialises a communicator on a thread of its own. If the application completes the future first, the communicator is
 * aborted and closed.
 */
final class AsyncInit {

    private final Supplier<Communicator> init;
    private final StackTraceElement[] call = new Throwable().getStackTrace();
    private final CompletableFuture<Communicator> future = new CallerFuture<>();
    private final Thread thread = ServiceThread.once("jccl-init", this::run, this::settle);
    private Communicator communicator; // used by the thread only; null until it is initialised

    private AsyncInit(Supplier<Communicator> init) {
        this.init = init;
    }

    /** @param init initialises a communicator; if its thread is interrupted, gives up and tells the other ranks */
    static CompletableFuture<Communicator> start(Supplier<Communicator> init) {
        AsyncInit starting = new AsyncInit(init);
        starting.future.whenComplete((communicator, problem) -> starting.interrupt());
        Threads.tryStart(starting.thread).ifPresent(starting.future::completeExceptionally);
        return starting.future;
    }

    /**
     * Called when the future is complete. Interrupts the initialisation if the application has completed the future.
     */
    private void interrupt() {
        if (Thread.currentThread() != thread) {
            thread.interrupt();
        }
    }

    private void run() {
        communicator = init.get();
    }

    /** Completes the future. Called again after an error of the JVM. */
    private void settle(Throwable thrown) {
        if (thrown != null) {
            future.completeExceptionally(Rethrown.forCall(thrown, call));
        } else if (!future.complete(communicator) && !hasTaken()) {
            // The other ranks must not wait for this one.
            communicator.abort("the application no longer awaits its initialisation");
            communicator.close();
        }
    }

    /** Returns true if the future already has the communicator: an earlier attempt completed it and then threw. */
    private boolean hasTaken() {
        return !future.isCompletedExceptionally() && future.getNow(null) == communicator;
    }
}
