package io.jccl;

import org.jspecify.annotations.Nullable;

/**
 * The calling thread was interrupted while it waited for other ranks. The wait ends within 100 ms, and the thread's
 * interrupt flag is set when this is thrown.
 *
 * <p>An operation that has not begun on this rank stays issued and its communicator stays usable: another call of
 * {@link Work#await()}, also by another thread, waits for it again. An operation that has begun cannot be undone: its
 * communicator fails, and the failure names this rank to the other ranks.
 */
public class InterruptedCommunicationException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what was interrupted, with name=value pairs and the remedy
     */
    public InterruptedCommunicationException(String message) {
        super(message);
    }

    /**
     * @param message what was interrupted, with name=value pairs and the remedy
     * @param cause the exception that led to this one, or null
     */
    public InterruptedCommunicationException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
