package io.jccl.internal;

import io.jccl.DataBuffer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The callbacks by which owners of memory learn that no operation uses it any more. */
public final class Releases {

    private static final Logger LOG = LoggerFactory.getLogger(Releases.class);
    private static final ThreadLocal<Boolean> INSIDE = new ThreadLocal<>(); // set while this thread runs a callback

    private static volatile Predicate<DataBuffer> awaited; // set by DataBuffer, like the next field
    private static volatile Consumer<DataBuffer> settling;

    private Releases() {}

    /**
     * Called once by {@link DataBuffer}.
     *
     * @param hasCallback returns true for a buffer with a callback
     * @param settle calls a buffer's callback, unless an operation uses the buffer or the callback was called before
     */
    public static void install(Predicate<DataBuffer> hasCallback, Consumer<DataBuffer> settle) {
        awaited = hasCallback;
        settling = settle;
    }

    /** Returns true for a buffer with a callback; false for null. */
    public static boolean isAwaited(@Nullable DataBuffer buffer) {
        return buffer != null && awaited.test(buffer);
    }

    /** Called after each call with a buffer. Calls the buffer's callback unless an operation uses the buffer. */
    public static void settle(@Nullable DataBuffer buffer) {
        if (isAwaited(buffer)) {
            settling.accept(buffer);
        }
    }

    /** Like {@link #settle(DataBuffer)}, for the buffers of a list that may be null. */
    public static void settle(@Nullable Iterable<? extends @Nullable DataBuffer> buffers) {
        if (buffers != null) {
            buffers.forEach(Releases::settle);
        }
    }

    /** Runs a callback. An exception that it throws is logged, so that it does not fail an operation that has ended. */
    public static void run(Runnable callback) {
        boolean isOuter = INSIDE.get() == null;
        INSIDE.set(true);
        try {
            callback.run();
        } catch (Throwable e) {
            LOG.warn("the callback of a DataBuffer, which owns the memory that was released, has thrown", e);
        } finally {
            if (isOuter) {
                INSIDE.remove();
            }
        }
    }

    /**
     * Checks that this thread runs no callback, where it would wait for itself.
     *
     * @throws IllegalStateException if it does
     */
    public static void requireOutside() {
        if (INSIDE.get() != null) {
            throw new IllegalStateException("the callback of a DataBuffer must not wait for an operation, nor close a"
                    + " communicator, because it runs on the thread that ends operations; do that on another thread");
        }
    }
}
