package io.jccl.events;

/** A step in a communicator's life that is under way. */
public interface CommunicatorSpan {

    /** Of a runtime that records nothing. */
    CommunicatorSpan NONE = new NoSpan();

    /**
     * The step has ended.
     *
     * @param steps how long its parts took, as text
     * @param failure why it failed, or an empty text
     */
    void end(String communicator, int rank, int size, String steps, String failure);

    /** Does nothing; no lambda, which costs a new JVM more. */
    final class NoSpan implements CommunicatorSpan {
        @Override
        public void end(String communicator, int rank, int size, String steps, String failure) {}
    }
}
