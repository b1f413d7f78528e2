package io.jccl.events;

/** The event of an operation that is under way. */
public interface OperationSpan {

    /** What an operation was: facts that are gathered only where the event is recorded. */
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

    /** Supplies the facts of the operation that has ended. */
    interface Source {
        /** The facts. */
        Facts facts();
    }

    /** The operation has ended; asks for its facts if the event passes the recording's threshold. */
    void end(boolean succeeded, Source source);
}
