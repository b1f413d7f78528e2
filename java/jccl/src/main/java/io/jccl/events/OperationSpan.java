package io.jccl.events;

/** The event of an operation, while the operation is in progress. */
public interface OperationSpan {

    /** Facts about an operation. They are gathered only if its event is recorded. */
    record Facts(
            String communicator,
            int rank,
            int size,
            long sequence,
            String collective,
            String type,
            String reduction,
            long count,
            long bytes,
            int root,
            String algorithm,
            String protocol,
            int channels,
            boolean inPlace,
            long waitedNanos,
            int waitedFor) {}

    /** Supplies the facts about the operation that has ended. */
    interface Source {
        /** Returns the facts. */
        Facts facts();
    }

    /**
     * Ends the event when the operation has ended. Asks for the facts only if the event passes the recording's
     * threshold.
     */
    void end(boolean succeeded, Source source);
}
