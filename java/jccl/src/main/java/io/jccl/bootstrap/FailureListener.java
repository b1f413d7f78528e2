package io.jccl.bootstrap;

/** Called when the communicator has failed. */
@FunctionalInterface
public interface FailureListener {

    /**
     * Called once, on the control network's thread or on the thread that calls {@link ControlNetwork#start}; must
     * return soon and must not close the communicator on this thread.
     */
    void onFailure(FailureReport report);
}
