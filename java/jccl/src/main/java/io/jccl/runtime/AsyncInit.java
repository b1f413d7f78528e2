package io.jccl.runtime;

import io.jccl.Communicator;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Initialises a communicator on a thread of its own. Who completes the future first decides. */
final class AsyncInit {

    private final Supplier<Communicator> init;
    private final CompletableFuture<Communicator> future = new CompletableFuture<>();
    private final Thread thread = new Thread(this::run, "jccl-init");

    private AsyncInit(Supplier<Communicator> init) {
        this.init = init;
    }

    /** @param init ends, and reports to the other ranks, when its thread is interrupted */
    static CompletableFuture<Communicator> start(Supplier<Communicator> init) {
        AsyncInit starting = new AsyncInit(init);
        starting.future.whenComplete((communicator, problem) -> starting.interrupt());
        starting.thread.setDaemon(true);
        starting.thread.start();
        return starting.future;
    }

    /** The application has completed the future, unless this is the thread that initialises. */
    private void interrupt() {
        if (Thread.currentThread() != thread) {
            thread.interrupt();
        }
    }

    private void run() {
        Communicator communicator;
        try {
            communicator = init.get();
        } catch (Throwable e) {
            future.completeExceptionally(e);
            return;
        }
        if (!future.complete(communicator)) {
            communicator.abort(); // the other ranks must not wait for this one
            communicator.close();
        }
    }
}
