package io.jccl.nativelib;

import io.jccl.JcclException;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** An open plug-in of native code, whose log records reach SLF4J while it is open. */
public final class PluginHandle {

    private final long handle;
    private final LogThread.Use logs;

    private PluginHandle(long handle, LogThread.Use logs) {
        this.handle = handle;
        this.logs = logs;
    }

    /**
     * Opens a plug-in.
     *
     * @param open returns the native handle, or 0
     * @param lastError returns why {@code open} has returned 0
     * @throws JcclException if the plug-in cannot be opened; the message has the reason
     */
    public static PluginHandle open(LongSupplier open, Supplier<String> lastError) {
        NativeLoader.load();
        LogThread.Use logs = LogThread.use();
        long handle = open.getAsLong();
        if (handle == 0) {
            String reason = lastError.get();
            logs.close();
            throw new JcclException(reason);
        }
        return new PluginHandle(handle, logs);
    }

    /**
     * Calls native code whose log records reach SLF4J during the call.
     *
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    @SuppressWarnings("try") // the use has its effect while it is open
    public static <T extends @Nullable Object> T call(Supplier<T> call) {
        NativeLoader.load(); // not in a static initializer, whose failure would be an error of the JVM
        try (LogThread.Use logs = LogThread.use()) {
            return call.get();
        }
    }

    /** Returns the native handle. */
    public long get() {
        return handle;
    }

    /** Closes the plug-in by {@code close}, which gets the handle. Must be called once. */
    public void close(LongConsumer close) {
        close.accept(handle);
        logs.close();
    }
}
