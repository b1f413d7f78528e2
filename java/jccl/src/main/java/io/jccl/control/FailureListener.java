package io.jccl.control;

/** Learns that the communicator has failed. */
public interface FailureListener {

    /**
     * Called once with the agreed failure, on the control network's thread or on the thread that calls
     * {@link ControlNetwork#start}. Must return soon and must not close the communicator on this thread.
     */
    void onFailure(FailureReport report);

    /**
     * Makes threads stop waiting inside operations, because this rank cannot take part in them any more. {@link
     * #onFailure} or {@link #onBreakDown} follows with the reason when there is memory. Must allocate nothing.
     */
    default void stopOperations() {}

    /**
     * Called after an error of the JVM has interrupted the control network of this rank, on that network's thread.
     * Called again if it throws an error.
     *
     * @param text the description of the error, for the exception's message
     */
    default void onBreakDown(String text, Throwable error) {}
}
