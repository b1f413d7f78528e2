package io.jccl.internal;

import io.jccl.DataBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Keeps the memory of data buffers from being freed while an operation is executed, if its owner could free it. */
public final class MemoryHold {

    /** Executes an operation over a buffer. */
    @FunctionalInterface
    public interface Holder {
        /** Returns the result of the operation. */
        long run(DataBuffer buffer, LongSupplier operation);
    }

    /** Maximum number of holds of one operation: each hold takes some of the stack. */
    private static final int MAX = 16;

    private static volatile Function<DataBuffer, @Nullable Object> held; // set by DataBuffer, like holder
    private static volatile Holder holder;

    private MemoryHold() {}

    /**
     * Called once by {@link DataBuffer}.
     *
     * @param what returns the object, for example an arena, with which the memory of a buffer can be freed while an
     *     operation is executed; null if it cannot be freed
     * @param hold executes an operation while that object cannot free the memory
     */
    public static void install(Function<DataBuffer, @Nullable Object> what, Holder hold) {
        held = what;
        holder = hold;
    }

    /** Returns true if the memory of a buffer must be held; false for null. */
    public static boolean isNeeded(@Nullable DataBuffer buffer) {
        return buffer != null && held.apply(buffer) != null;
    }

    /**
     * Returns those buffers whose memory must be held, one for each arena.
     *
     * @throws IllegalArgumentException if the buffers belong to too many arenas
     */
    public static List<DataBuffer> ofEachArena(List<DataBuffer> buffers) {
        Map<Object, DataBuffer> found = Map.of();
        for (DataBuffer buffer : buffers) {
            Object arena = held.apply(buffer);
            if (arena != null) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.putIfAbsent(arena, buffer);
            }
        }
        if (found.size() > MAX) {
            throw new IllegalArgumentException("arenas=" + found.size() + ": expected at most " + MAX
                    + " for the segments of one operation; allocate them in fewer arenas, or use several groups");
        }
        return List.copyOf(found.values());
    }

    /**
     * Executes an operation while the memory of a buffer cannot be freed.
     *
     * @throws IllegalStateException if the memory was freed before
     */
    public static long run(DataBuffer buffer, LongSupplier operation) {
        return holder.run(buffer, operation);
    }
}
