package io.jccl.runtime;

/** What an operation does, with arguments that fit together. It refers to its buffers until the operation is over. */
sealed interface OperationCall permits BufferCall, TransfersCall, FusedCall, GroupCall {

    /** Whether it works on device memory, or is ordered by a stream. */
    boolean isOnDevice();

    /**
     * Pins the host buffers that it uses; {@link #release} unpins them.
     *
     * @throws IllegalStateException if one was closed; then none is pinned
     */
    void pin();

    /** Drops the buffers. */
    void release();

    /** For messages: {@code all_reduce(type=float32 op=sum count=1024)}. Any thread may call it at any time. */
    String describe();
}
