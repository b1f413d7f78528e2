package io.jccl;

/** How long the memory of a {@link DataBuffer} may be used, where somebody can end that. Methods may be called by any thread. */
interface MemoryLife {

    /**
     * Does nothing while the memory may be used.
     *
     * @throws IllegalStateException if that has ended
     */
    void requireOpen();

    /**
     * Keeps the memory for an operation, if possible, until {@link #unpin}.
     *
     * @throws IllegalStateException if the memory may no longer be used
     */
    void pin();

    /** Undoes one {@link #pin}. */
    void unpin();
}
