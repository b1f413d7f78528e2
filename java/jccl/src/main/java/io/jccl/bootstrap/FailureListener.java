package io.jccl.bootstrap;

/** Called when the communicator has failed. */
public interface FailureListener {

    /**
     * Called once, on the control network's thread or on the thread that calls {@link ControlNetwork#start}; must
     * return soon and must not close the communicator on this thread.
     */
    void onFailure(FailureReport report);

    /**
     * Ends what waits inside operations, because this rank cannot take part any more; {@link #onFailure} or {@link #onBreakDown}
     * follows with the reason when there is memory. Allocates nothing.
     */
    default void stopOperations() {}

    /**
     * An error of the JVM has interrupted the control network of this rank. Called on its thread, again while this throws an
     * error.
     *
     * @param text what happened, for the exception's message
     */
    default void onBreakDown(String text, Throwable error) {}
}
