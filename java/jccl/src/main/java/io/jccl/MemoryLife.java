package io.jccl;

import java.util.function.LongSupplier;

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

    /** Whether a pin alone does not keep the memory: then operations are executed by {@link #runHeld}. */
    default boolean needsHold() {
        return false;
    }

    /**
     * Executes an operation while nobody can end the memory.
     *
     * @throws IllegalStateException if it has ended before
     */
    default long runHeld(LongSupplier operation) {
        return operation.getAsLong();
    }
}
