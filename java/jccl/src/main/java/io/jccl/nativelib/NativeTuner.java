package io.jccl.nativelib;

import io.jccl.JcclException;

/**
 * A tuner plug-in of NCCL's interface, opened at run time, with what it keeps for one communicator. One thread at a time calls
 * it. Numbers of functions, algorithms and protocols are NCCL's.
 */
public final class NativeTuner implements AutoCloseable {

    private final long handle;
    private final String description;
    private final LogThread.Use logs;

    private NativeTuner(long handle, LogThread.Use logs) {
        this.handle = handle;
        this.logs = logs;
        this.description = description(handle);
    }

    /**
     * Opens a plug-in.
     *
     * @param name as the settings have it: a path, the name of a library, or NAME of {@code libnccl-tuner-NAME.so}; empty for
     *     {@code libnccl-tuner.so}
     * @param ofNetwork whether it is the name of a network plug-in, whose library may have a tuner as well
     * @throws JcclException that says why it cannot be opened
     */
    public static NativeTuner open(String name, boolean ofNetwork) {
        NativeLoader.load();
        LogThread.Use logs = LogThread.use();
        long handle = openPlugin(name, ofNetwork);
        if (handle == 0) {
            String reason = lastError();
            logs.close();
            throw new JcclException(reason);
        }
        return new NativeTuner(handle, logs);
    }

    /** Its name, file and version, for the log. */
    public String description() {
        return description;
    }

    /**
     * Initialises it for a communicator.
     *
     * @param id the same on all ranks
     * @throws JcclException if it refuses
     */
    public void init(long id, int ranks, int hosts, int minLocalRanks, int maxLocalRanks) {
        check(init(handle, id, ranks, hosts, minLocalRanks, maxLocalRanks));
    }

    /**
     * Lets it change the costs of an operation.
     *
     * @param costs microseconds by algorithm and protocol, -1 for what cannot be executed; changed
     * @return how many channels it asks for; 0 where it leaves that open
     * @throws JcclException if it fails
     */
    public int ask(int function, long bytes, float[] costs) {
        int[] channels = {0};
        check(ask(handle, function, bytes, costs, channels));
        return channels[0];
    }

    /**
     * Lets it change the bytes of a step.
     *
     * @return what it asks for, or {@code chunkBytes}
     * @throws JcclException if it fails
     */
    public long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes) {
        long chunk = askChunk(handle, function, bytes, algorithm, protocol, channels, chunkBytes);
        check(chunk < 0 ? -1 : 0);
        return chunk;
    }

    /** Ends it; call it once. */
    @Override
    public void close() {
        close(handle);
        logs.close();
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
