package io.jccl.internal;

import io.jccl.DataBuffer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Keeps the memory of data buffers while an operation is executed, where their owner could free it meanwhile. */
public final class MemoryHold {

    /** Executes an operation over a buffer. */
    @FunctionalInterface
    public interface Holder {
        /** What the operation returned. */
        long run(DataBuffer buffer, LongSupplier operation);
    }

    private static volatile Predicate<DataBuffer> needs; // installed by DataBuffer when it is initialised, as the next
    private static volatile Holder holder;

    private MemoryHold() {}

    /**
     * Called by {@link DataBuffer}, once.
     *
     * @param isNeeded whether the memory of a buffer can be freed while an operation is executed
     * @param hold prevents that
     */
    public static void install(Predicate<DataBuffer> isNeeded, Holder hold) {
        needs = isNeeded;
        holder = hold;
    }

    /** Whether the memory of a buffer must be held; false if there is none. */
    public static boolean isNeeded(@Nullable DataBuffer buffer) {
        return buffer != null && needs.test(buffer);
    }

    /**
     * Executes an operation while the memory of a buffer cannot be freed.
     *
     * @throws IllegalStateException if it was freed before
     */
    public static long run(DataBuffer buffer, LongSupplier operation) {
        return holder.run(buffer, operation);
    }
}
