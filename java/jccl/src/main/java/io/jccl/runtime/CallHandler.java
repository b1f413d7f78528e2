package io.jccl.runtime;

/**
 * Handles calls by their kind: {@link OperationCall#dispatch} passes a call to the method of its kind. A handler does
 * not override the methods for kinds that it never receives.
 */
interface CallHandler {

    /** Handles a collective in which all ranks pass the same count. */
    long handle(CollectiveCall call, long timeoutNanos);

    /** Handles a collective with a count for each rank. */
    long handle(VectorCall call, long timeoutNanos);

    /** Handles sends and receives. */
    long handle(TransfersCall call, long timeoutNanos);

    /** Handles several calls that were issued as one. */
    long handle(GroupCall call, long timeoutNanos);

    /** Handles a collective with a user-defined reduction, in memory of the host only. */
    default long handle(ReductionCall call, long timeoutNanos) {
        throw unexpected(call);
    }

    /** Handles a send, a receive, or one of each, in memory of the host only. */
    default long handle(SendReceiveCall call, long timeoutNanos) {
        throw unexpected(call);
    }

    /** Handles an all-reduce of several buffers, in memory of the host only. */
    default long handle(FusedCall call, long timeoutNanos) {
        throw unexpected(call);
    }

    private static IllegalStateException unexpected(OperationCall call) {
        return new IllegalStateException(call.describe() + ": expected an operation that is not on the host only");
    }
}
