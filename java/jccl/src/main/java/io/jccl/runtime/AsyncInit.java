package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.internal.Rethrown;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Initialises a communicator on a thread of its own. Who completes the future first decides. */
final class AsyncInit {

    private final Supplier<Communicator> init;
    private final StackTraceElement[] call = new Throwable().getStackTrace();
    private final CompletableFuture<Communicator> future = new CallerFuture<>();
    private final Thread thread = ServiceThread.once("jccl-init", this::run, this::settle);
    private Communicator communicator; // touched by the thread only; null: not initialised

    private AsyncInit(Supplier<Communicator> init) {
        this.init = init;
    }

    /** @param init ends, and reports to the other ranks, when its thread is interrupted */
    static CompletableFuture<Communicator> start(Supplier<Communicator> init) {
        AsyncInit starting = new AsyncInit(init);
        starting.future.whenComplete((communicator, problem) -> starting.interrupt());
        Threads.tryStart(starting.thread).ifPresent(starting.future::completeExceptionally);
        return starting.future;
    }

    /** The application has completed the future, unless this is the thread that initialises. */
    private void interrupt() {
        if (Thread.currentThread() != thread) {
            thread.interrupt();
        }
    }

    private void run() {
        communicator = init.get();
    }

    /** May be called again after an error of the JVM. */
    private void settle(Throwable thrown) {
        if (thrown != null) {
            future.completeExceptionally(Rethrown.forCall(thrown, call));
        } else if (!future.complete(communicator) && !hasTaken()) {
            communicator.abort(); // the other ranks must not wait for this one
            communicator.close();
        }
    }

    /** Returns true if the future has the communicator: an earlier attempt to complete it did, and threw afterwards. */
    private boolean hasTaken() {
        return !future.isCompletedExceptionally() && future.getNow(null) == communicator;
    }
}
