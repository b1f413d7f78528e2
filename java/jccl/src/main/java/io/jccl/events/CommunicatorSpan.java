package io.jccl.events;

/** A step in a communicator's life that is under way. */
public interface CommunicatorSpan {

    /** Of a runtime that records nothing. */
    CommunicatorSpan NONE = (communicator, rank, size, steps, failure) -> {};

    /**
     * The step has ended.
     *
     * @param steps how long its parts took, as text
     * @param failure why it failed, or an empty text
     */
    void end(String communicator, int rank, int size, String steps, String failure);
}
