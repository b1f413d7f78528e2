package io.jccl.internal;

import io.jccl.DataBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Keeps the memory of data buffers while an operation is executed, where their owner could free it meanwhile. */
public final class MemoryHold {

    /** Executes an operation over a buffer. */
    @FunctionalInterface
    public interface Holder {
        /** What the operation returned. */
        long run(DataBuffer buffer, LongSupplier operation);
    }

    /** How many an operation may need: each takes some of the stack. */
    private static final int MAX = 16;

    private static volatile Function<DataBuffer, @Nullable Object> held; // installed by DataBuffer, as the next
    private static volatile Holder holder;

    private MemoryHold() {}

    /**
     * Called by {@link DataBuffer}, once.
     *
     * @param what what of a buffer's memory can be freed while an operation is executed; null if nothing
     * @param hold prevents that
     */
    public static void install(Function<DataBuffer, @Nullable Object> what, Holder hold) {
        held = what;
        holder = hold;
    }

    /** Whether the memory of a buffer must be held; false if there is none. */
    public static boolean isNeeded(@Nullable DataBuffer buffer) {
        return buffer != null && held.apply(buffer) != null;
    }

    /**
     * Of some buffers those whose memory must be held, one of each arena.
     *
     * @throws IllegalArgumentException if they are of too many arenas
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
                    + " of the memory segments in one operation; allocate them in fewer arenas, or use several groups");
        }
        return List.copyOf(found.values());
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
