package io.jccl.tuner;

import io.jccl.JcclException;
import io.jccl.nativelib.PluginHandle;

/**
 * A tuner plug-in with NCCL's interface, opened at run time for one communicator. Only one thread at a time may call
 * it. Numbers of functions, algorithms and protocols are NCCL's.
 */
final class NativeTuner implements Tuner, AutoCloseable {

    private final PluginHandle plugin;
    private final String description;

    private NativeTuner(PluginHandle plugin) {
        this.plugin = plugin;
        this.description = description(plugin.get());
    }

    /**
     * Opens a plug-in.
     *
     * @param name the value of the setting: a path, the name of a library, or NAME of {@code libnccl-tuner-NAME.so};
     *     empty for {@code libnccl-tuner.so}
     * @param ofNetwork true if the name is that of a network plug-in, whose library may contain a tuner, too
     * @throws JcclException if the plug-in cannot be opened; the message has the reason
     */
    static NativeTuner open(String name, boolean ofNetwork) {
        return new NativeTuner(PluginHandle.open(() -> openPlugin(name, ofNetwork), NativeTuner::lastError));
    }

    /** Returns the plug-in's name, file and version, for the log. */
    String description() {
        return description;
    }

    /**
     * Initialises the plug-in for a communicator.
     *
     * @param id id of the communicator, the same on all ranks
     * @throws JcclException if the plug-in refuses
     */
    void init(long id, int ranks, int hosts, int minLocalRanks, int maxLocalRanks) {
        check(init(plugin.get(), id, ranks, hosts, minLocalRanks, maxLocalRanks));
    }

    @Override
    public int ask(int function, long bytes, float[] costs) {
        int[] channels = {0};
        check(ask(plugin.get(), function, bytes, costs, channels));
        return channels[0];
    }

    @Override
    public long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes) {
        long chunk = askChunk(plugin.get(), function, bytes, algorithm, protocol, channels, chunkBytes);
        check(chunk < 0 ? -1 : 0);
        return chunk;
    }

    /** Ends the plug-in. Must be called once. */
    @Override
    public void close() {
        plugin.close(NativeTuner::close);
    }

    private static void check(int code) {
        if (code != 0) {
            throw new JcclException(lastError());
        }
    }

    private static native long openPlugin(String name, boolean ofNetwork);

    private static native String description(long handle);

    private static native int init(long handle, long id, int ranks, int hosts, int minLocalRanks, int maxLocalRanks);

    private static native int ask(long handle, int function, long bytes, float[] costs, int[] channels);

    private static native long askChunk(
            long handle, int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes);

    private static native void close(long handle);

    private static native String lastError();
}
