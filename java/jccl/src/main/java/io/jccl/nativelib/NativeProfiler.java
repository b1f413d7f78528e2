package io.jccl.nativelib;

import io.jccl.JcclException;

/**
 * A profiler plug-in of NCCL's interface, opened at run time, with what it keeps for one communicator. Any thread may call it;
 * {@link #close} only when nobody else does any more.
 *
 * <p>Operations cross as rows of {@value #COLUMNS} longs.
 */
public final class NativeProfiler implements AutoCloseable {

    /** What a row is: one of the three that follow. */
    public static final int KIND = 0;
    /** Of {@link #KIND}: a collective. */
    public static final int KIND_COLLECTIVE = 0;
    /** Of {@link #KIND}: a send. */
    public static final int KIND_SEND = 1;
    /** Of {@link #KIND}: a receive. */
    public static final int KIND_RECV = 2;
    /** The number of the {@code Collective}. */
    public static final int COLLECTIVE = 1;
    /** The number of the {@code DataType}. */
    public static final int TYPE = 2;
    /** The number of the {@code ReduceOp}; -1 for none and for one of the user. */
    public static final int OP = 3;
    /** The number of the {@code Algorithm}. */
    public static final int ALGORITHM = 4;
    /** The number of the {@code Protocol}. */
    public static final int PROTOCOL = 5;
    /** How many channels. */
    public static final int CHANNELS = 6;
    /** The operation's number. */
    public static final int SEQUENCE = 7;
    /** How many elements. */
    public static final int COUNT = 8;
    /** The bytes of the largest buffer of a rank. */
    public static final int BYTES = 9;
    /** The root of a collective, the peer of a send or receive. */
    public static final int ROOT = 10;
    /** What is sent; of a send or receive 0. */
    public static final int SEND_ADDRESS = 11;
    /** Where it is received; of a send what is sent. */
    public static final int RECV_ADDRESS = 12;
    /** Longs of a row. */
    public static final int COLUMNS = 13;

    private final long handle;
    private final String description;
    private final LogThread.Use logs;

    private NativeProfiler(long handle, LogThread.Use logs) {
        this.handle = handle;
        this.logs = logs;
        this.description = description(handle);
    }

    /**
     * Opens a plug-in.
     *
     * @param name as the settings have it: a path, the name of a library, or NAME of {@code libnccl-profiler-NAME.so}; empty
     *     for {@code libnccl-profiler.so}
     * @param ofNetwork whether it is the name of a network plug-in, whose library may have a profiler as well
     * @throws JcclException that says why it cannot be opened
     */
    public static NativeProfiler open(String name, boolean ofNetwork) {
        NativeLoader.load();
        LogThread.Use logs = LogThread.use();
        long handle = openPlugin(name, ofNetwork);
        if (handle == 0) {
            String reason = lastError();
            logs.close();
            throw new JcclException(reason);
        }
        return new NativeProfiler(handle, logs);
    }

    /** Its name, file and version, for the log. */
    public String description() {
        return description;
    }

    /**
     * Initialises it for a communicator.
     *
     * @param id the same on all ranks
     * @param name the communicator's
     * @throws JcclException if it refuses
     */
    public void init(long id, String name, int hosts, int ranks, int rank) {
        if (init(handle, id, name, hosts, ranks, rank) != 0) {
            throw new JcclException(lastError());
        }
    }

    /**
     * An operation begins, or several as a group.
     *
     * @return what {@link #stop} takes; 0 where the plug-in asks for no event of them
     */
    public long start(long[] rows) {
        return start(handle, rows);
    }

    /** They have ended. */
    public void stop(long events) {
        stop(handle, events);
    }

    /** Ends it; call it once. */
    @Override
    public void close() {
        close(handle);
        logs.close();
    }

    private static native long openPlugin(String name, boolean ofNetwork);

    private static native String description(long handle);

    private static native int init(long handle, long id, String name, int hosts, int ranks, int rank);

    private static native long start(long handle, long[] rows);

    private static native void stop(long handle, long events);

    private static native void close(long handle);

    private static native String lastError();
}
