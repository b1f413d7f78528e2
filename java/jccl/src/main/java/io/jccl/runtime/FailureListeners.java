package io.jccl.runtime;

import io.jccl.JcclException;
import io.jccl.internal.ServiceThread;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's listeners for the failure of a communicator. Each is called once, on a thread of its own. If that
 * thread cannot be started, for lack of memory or of threads, the listener waits for the next {@link #start}.
 */
final class FailureListeners {

    private static final Logger LOG = LoggerFactory.getLogger(FailureListeners.class);

    private final int rank;
    private final Queue<Consumer<? super JcclException>> waiting = new ConcurrentLinkedQueue<>();
    private volatile JcclException cause; // null until the communicator fails

    FailureListeners(int rank) {
        this.rank = rank;
    }

    /** Adds a listener, and calls it if the communicator has failed. */
    void add(Consumer<? super JcclException> listener) {
        waiting.add(listener);
        start();
    }

    /** Calls the listeners because the communicator has failed. Keeps the cause of the first call. */
    void fail(JcclException first) {
        if (cause == null) {
            cause = first;
        }
        start();
    }

    /** Starts the threads of the listeners that wait, if the communicator has failed and threads can be started. */
    void start() {
        if (cause == null || waiting.isEmpty()) {
            return;
        }
        try {
            startAll();
        } catch (OutOfMemoryError e) {
            // There is no memory, or no thread. The watchdog calls this again.
        }
    }

    private synchronized void startAll() {
        for (Consumer<? super JcclException> next = waiting.peek(); next != null; next = waiting.peek()) {
            Consumer<? super JcclException> listener = next;
            ServiceThread.once("jccl-failure-listener", () -> call(listener)).start();
            waiting.remove();
        }
    }

    private void call(Consumer<? super JcclException> listener) {
        try {
            listener.accept(cause);
        } catch (Throwable e) {
            LOG.warn("rank={}: a listener of the failure has thrown", rank, e);
        }
    }
}
