package io.jccl.internal;

import io.jccl.DataBuffer;
import java.nio.Buffer;
import java.util.function.Function;

/** Gives the library access to the NIO buffers of data buffers in heap memory. Applications have no access. */
public final class HeapAccess {

    /** Set by {@link DataBuffer}'s static initialiser, and therefore before any data buffer exists. */
    private static volatile Function<DataBuffer, Buffer> access;

    private HeapAccess() {}

    /**
     * Called once by {@link DataBuffer}.
     *
     * @param heap returns the NIO buffer of a data buffer
     */
    public static void install(Function<DataBuffer, Buffer> heap) {
        access = heap;
    }

    /**
     * Returns the NIO buffer whose remaining elements are those of a data buffer. Callers must not change its position
     * and limit.
     *
     * @throws IllegalStateException if the data buffer is not heap memory
     */
    public static Buffer of(DataBuffer buffer) {
        return access.apply(buffer);
    }
}
