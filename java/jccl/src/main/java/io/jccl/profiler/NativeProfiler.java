package io.jccl.profiler;

import io.jccl.JcclException;
import io.jccl.nativelib.PluginHandle;
import io.jccl.parts.OperationProfiler;

/** A profiler plug-in with NCCL's interface, opened at run time for one communicator. */
final class NativeProfiler implements OperationProfiler {

    private final PluginHandle plugin;
    private final String description;

    private NativeProfiler(PluginHandle plugin) {
        this.plugin = plugin;
        this.description = description(plugin.get());
    }

    /**
     * Opens a plug-in.
     *
     * @param name the value of the setting: a path, the name of a library, or NAME of {@code libnccl-profiler-NAME.so};
     *     empty for {@code libnccl-profiler.so}
     * @param ofNetwork true if the name is that of a network plug-in, whose library may contain a profiler, too
     * @throws JcclException if the plug-in cannot be opened; the message has the reason
     */
    static NativeProfiler open(String name, boolean ofNetwork) {
        return new NativeProfiler(PluginHandle.open(() -> openPlugin(name, ofNetwork), NativeProfiler::lastError));
    }

    @Override
    public String description() {
        return description;
    }

    /**
     * Initialises the plug-in for a communicator.
     *
     * @param id id of the communicator, the same on all ranks
     * @param name name of the communicator
     * @throws JcclException if the plug-in refuses
     */
    void init(long id, String name, int hosts, int ranks, int rank) {
        if (init(plugin.get(), id, name, hosts, ranks, rank) != 0) {
            throw new JcclException(lastError());
        }
    }

    @Override
    public long start(long[] rows) {
        return start(plugin.get(), rows);
    }

    @Override
    public void stop(long events) {
        stop(plugin.get(), events);
    }

    @Override
    public void close() {
        plugin.close(NativeProfiler::close);
    }

    private static native long openPlugin(String name, boolean ofNetwork);

    private static native String description(long handle);

    private static native int init(long handle, long id, String name, int hosts, int ranks, int rank);

    private static native long start(long handle, long[] rows);

    private static native void stop(long handle, long events);

    private static native void close(long handle);

    private static native String lastError();
}
