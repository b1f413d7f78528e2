package io.jccl;

import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of the memory of a {@link DataBuffer} that can be closed or freed while the buffer is reachable. Any
 * thread may call any method.
 */
interface MemoryLife {

    /**
     * Throws if the memory may no longer be used.
     *
     * @throws IllegalStateException if the lifetime has ended
     */
    void requireOpen();

    /**
     * Keeps the memory for an operation until {@link #unpin}. Some kinds of memory need {@link #runHeld} in addition.
     *
     * @throws IllegalStateException if the memory may no longer be used
     */
    void pin();

    /** Undoes one {@link #pin}. */
    void unpin();

    /**
     * Returns the object, such as an arena, that {@link #runHeld} must keep open while an operation over the memory is
     * executed. Returns null if a pin is enough. For several buffers with the same object, one {@link #runHeld} is
     * enough.
     */
    default @Nullable Object held() {
        return null;
    }

    /**
     * Executes an operation, and prevents the end of the memory's lifetime meanwhile.
     *
     * @throws IllegalStateException if the lifetime has ended before
     */
    default long runHeld(LongSupplier operation) {
        return operation.getAsLong();
    }
}
