package io.jccl;

import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

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

    /**
     * What operations over the memory are executed {@linkplain #runHeld with a hold of}, because a pin alone does not keep
     * it; equal where one hold serves several buffers. Null: a pin is enough.
     */
    default @Nullable Object held() {
        return null;
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
