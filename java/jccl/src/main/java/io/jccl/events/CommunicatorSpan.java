package io.jccl.events;

/** The event of a step in a communicator's life, while the step is in progress. */
public interface CommunicatorSpan {

    /** The event of a step that is not recorded. */
    CommunicatorSpan NONE = new NoSpan();

    /**
     * Ends the event. The caller calls this method when the step has ended.
     *
     * @param steps how long the parts of the step took, as text
     * @param failure why the step failed, or an empty text
     */
    void end(String communicator, int rank, int size, String steps, String failure);

    /** Does nothing. A class and not a lambda, because the first lambda costs more in a new JVM. */
    final class NoSpan implements CommunicatorSpan {
        @Override
        public void end(String communicator, int rank, int size, String steps, String failure) {}
    }
}
