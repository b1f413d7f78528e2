package io.jccl.runtime;

import io.jccl.DeviceStream;

/**
 * Executes the operations of one communicator on one kind of memory. Operations wait in the communicator's queue for the
 * thread that executes them, unless a backend says otherwise.
 */
interface Backend {

    /** The queue of the communicator. */
    OperationQueue queue();

    /**
     * Gives a call its place in the sequence; the caller has the right to issue.
     *
     * @param stream orders it on a device; null: the communicator's own
     * @param deadline when it must be over; {@link Deadlines#NONE}: the communicator's time-out counts
     * @throws RuntimeException if that is not possible; then nothing is issued
     */
    OperationWork issue(OperationCall call, DeviceStream stream, long deadline);

    /**
     * Executes an operation on the calling thread, which has the right to run; or launches it on the device, where the backend
     * does that when the operation is issued.
     *
     * @return the choice that was used, packed, or the number on the device; or a status below
     *     {@link io.jccl.nativelib.Code#OK}
     */
    long execute(OperationWork work, long timeoutNanos);

    /**
     * How a collective of memory of this kind is to be executed, packed; it may turn out otherwise where buffers are used in place.
     *
     * @param sameCounts whether all ranks have one count
     * @param bytes of the largest buffer of any rank
     */
    long choice(int signature, boolean sameCounts, long bytes);

    /** Returns when the operation is over. */
    default void await(OperationWork work, long deadline) {
        queue().await(work, deadline);
    }

    /** Sees to it that the operation proceeds, and returns at once. */
    default void poll(OperationWork work) {
        queue().wake();
    }

    /** Finds out whether the operation is over, where nobody reports that; on the communicator's thread. */
    default void refresh(OperationWork work) {}

    /** What the operation is, for messages. */
    default String describe(OperationWork work) {
        return work.call().describe();
    }

    /** The sequence number that a failure of the operation is reported with, on the thread that has executed it. */
    default long failureSequence(OperationWork work) {
        return queue().engine().lastEntered();
    }

    /** Drops buffers when the operation is over. */
    default void release(OperationWork work) {
        work.call().release();
    }

    /** Returns when everything is over that was issued and is not in the queue; the caller has the right to issue. */
    default void drain() {}

    /** The bytes of host memory that operations are staged in. */
    default long stagingBytes() {
        return 0;
    }
}
