package io.jccl.runtime;

import io.jccl.DeviceStream;

/**
 * Executes the operations of one communicator on host memory or on device memory. Unless a backend states otherwise,
 * operations wait in the communicator's queue for the thread that executes them.
 */
interface Backend {

    /** Returns the queue of the communicator. */
    OperationQueue queue();

    /**
     * Issues a call, which fixes its place in the sequence. The caller has the right to issue.
     *
     * @param stream the stream that orders the operation on a device; null for the communicator's own
     * @param deadline time by which the operation must be over; {@link Deadlines#NONE} for the communicator's time-out
     * @throws RuntimeException if the call cannot be issued; then nothing is issued
     */
    OperationWork issue(OperationCall call, DeviceStream stream, long deadline);

    /**
     * Executes an operation on the calling thread, which has the right to run. The backend of kernels calls this when
     * it issues an operation, and launches the operation on the device.
     *
     * @return the packed choice that was used, or the operation's number on the device; or a status below
     *     {@link io.jccl.nativelib.Code#OK}
     */
    long execute(OperationWork work, long timeoutNanos);

    /**
     * Lets the next {@link #execute}, which must be of this operation, return {@link io.jccl.nativelib.Code#PAUSED}
     * where the operation would wait for another rank. {@link #resume} continues it.
     *
     * @return false if this operation cannot pause
     */
    default boolean mayPause(OperationWork work) {
        return false;
    }

    /**
     * Continues a paused operation; returns the same as {@link #execute}.
     *
     * @param pauses true if the operation may pause again
     */
    default long resume(OperationWork work, long timeoutNanos, boolean pauses) {
        throw new IllegalStateException(describe(work) + ": operations of this backend do not pause");
    }

    /**
     * Returns the packed choice for a collective on this kind of memory. The execution can differ from this choice if
     * ranks use each other's buffers in place.
     *
     * @param sameCounts true if all ranks have the same count
     * @param bytes size of the largest buffer of any rank
     */
    long choice(int signature, boolean sameCounts, long bytes);

    /** Returns when the operation is over. */
    default void await(OperationWork work, long deadline) {
        queue().await(work, deadline);
    }

    /** Ensures that the operation is executed, or that its end is noticed; does not wait for other ranks. */
    default void poll(OperationWork work) {
        queue().poll(work);
    }

    /**
     * Updates the state of an operation if no thread reports its end, as for operations that kernels execute. May wait
     * for the agreed failure.
     */
    default void refresh(OperationWork work) {}

    /** Ensures that the end of an operation is noticed soon although no thread may wait for it. */
    default void endUnawaited(OperationWork work) {}

    /** Describes the operation for messages. */
    default String describe(OperationWork work) {
        return work.call().describe();
    }

    /**
     * Returns the sequence number with which a failure of the operation is reported. Called by the thread that has
     * executed the operation.
     */
    default long failureSequence(OperationWork work) {
        return queue().engine().lastEntered();
    }

    /** Drops the buffers of an operation that is over. */
    default void release(OperationWork work) {
        work.call().release();
    }

    /** Waits for all issued operations that are not in the queue. The caller has the right to issue. */
    default void drain() {}

    /**
     * Allocates zeroed memory on which this backend executes operations. No operation is issued meanwhile.
     *
     * @throws io.jccl.JcclException if there is no such memory
     */
    SymmetricAllocation.Memory allocate(long bytes);

    /** Returns the bytes of host memory in which operations are staged. */
    default long stagingBytes() {
        return 0;
    }
}
