package io.jccl.internal;

import io.jccl.DataBuffer;
import java.nio.Buffer;
import java.util.function.Function;

/** The NIO buffers behind data buffers of heap memory, which only the library may have. */
public final class HeapAccess {

    /** Installed by {@link DataBuffer} when it is initialised, so before there is one to ask about. */
    private static volatile Function<DataBuffer, Buffer> access;

    private HeapAccess() {}

    /**
     * Called by {@link DataBuffer}, once.
     *
     * @param heap returns the NIO buffer behind a data buffer
     */
    public static void install(Function<DataBuffer, Buffer> heap) {
        access = heap;
    }

    /**
     * The NIO buffer whose remaining elements are those of a data buffer. Its position and limit stay as they are.
     *
     * @throws IllegalStateException if it is not heap memory
     */
    public static Buffer of(DataBuffer buffer) {
        return access.apply(buffer);
    }
}
