package io.jccl.runtime;

import java.util.List;

/** The kind and the checked arguments of an operation. Refers to the buffers until the operation is over. */
sealed interface OperationCall permits BufferCall, TransfersCall, FusedCall, GroupCall {

    /** Passes this call to the method of {@code handler} for its kind, and returns what that returns. */
    long dispatch(CallHandler handler, long timeoutNanos);

    /** Returns the calls that this call consists of: itself, unless it is a group. */
    default List<OperationCall> members() {
        return List.of(this);
    }

    /** Executes one member of a call; returns the same as {@link Backend#execute}. */
    @FunctionalInterface
    interface Member {
        long execute(OperationCall call, long timeoutNanos);
    }

    /** Executes the members one after the other, until one fails; returns the outcome of the last. */
    default long executeEach(long timeoutNanos, Member member) {
        return member.execute(this, timeoutNanos);
    }

    /** Returns true if the call consists of sends and receives, which have no sequence number. */
    default boolean isTransfer() {
        return false;
    }

    /** Returns the bytes of the largest buffer of any rank, or of all sends and receives; 0 if the call has no size. */
    default long bytes(int size) {
        return 0;
    }

    /**
     * Returns this call in the form that {@link StagedBackend} executes. Only calls on device memory have this form;
     * groups do not.
     */
    default StagedBackend.StagedCall staged(StagedBackend backend) {
        throw new IllegalStateException(describe() + ": expected an operation on device memory");
    }

    /** Describes the call and what it does now, for messages. */
    default String describe(String state) {
        return describe() + state;
    }

    /** Returns true if the call works on device memory, or is ordered by a stream. */
    boolean isOnDevice();

    /**
     * Pins the host buffers of the operation; {@link #release} unpins them.
     *
     * @throws IllegalStateException if a buffer is closed; then none stays pinned
     */
    void pin();

    /** Unpins and drops the buffers. */
    void release();

    /**
     * Describes the operation for messages: {@code all_reduce(type=float32 op=sum count=1024)}. Any thread may call
     * this at any time.
     */
    String describe();
}
