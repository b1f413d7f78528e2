package io.jccl.nativelib;

import io.jccl.JcclException;
import java.lang.annotation.Native;

/**
 * A profiler plug-in with NCCL's interface, opened at run time for one communicator. Any thread may call the plug-in.
 * {@link #close} may be called once no other thread calls the plug-in any more.
 *
 * <p>Operations are passed as rows of {@value #COLUMNS} longs.
 */
public final class NativeProfiler implements AutoCloseable {

    /** Place of the kind: {@link #KIND_COLLECTIVE}, {@link #KIND_SEND} or {@link #KIND_RECV}. */
    @Native
    public static final int KIND = 0;
    /** Kind of a collective. */
    @Native
    public static final int KIND_COLLECTIVE = 0;
    /** Kind of a send. */
    @Native
    public static final int KIND_SEND = 1;
    /** Kind of a receive. */
    @Native
    public static final int KIND_RECV = 2;
    /** Place of the number of the {@code Collective}. */
    @Native
    public static final int COLLECTIVE = 1;
    /** Place of the number of the {@code DataType}. */
    @Native
    public static final int TYPE = 2;
    /** Place of the number of the {@code ReduceOp}; -1 for none, and for a user-defined reduction. */
    @Native
    public static final int OP = 3;
    /** Place of the number of the {@code Algorithm}. */
    @Native
    public static final int ALGORITHM = 4;
    /** Place of the number of the {@code Protocol}. */
    @Native
    public static final int PROTOCOL = 5;
    /** Place of the count of channels. */
    @Native
    public static final int CHANNELS = 6;
    /** Place of the operation's sequence number. */
    @Native
    public static final int SEQUENCE = 7;
    /** Place of the count of elements. */
    @Native
    public static final int COUNT = 8;
    /** Place of the bytes of the largest buffer of any rank. */
    @Native
    public static final int BYTES = 9;
    /** Place of the root of a collective, or the peer of a send or receive. */
    @Native
    public static final int ROOT = 10;
    /** Place of the address of a collective's send buffer; 0 for a send or receive. */
    @Native
    public static final int SEND_ADDRESS = 11;
    /** Place of the address of a collective's receive buffer, or of the buffer of a send or receive. */
    @Native
    public static final int RECV_ADDRESS = 12;
    /** Count of the longs of a row. */
    @Native
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
     * @param name the value of the setting: a path, the name of a library, or NAME of {@code libnccl-profiler-NAME.so};
     *     empty for {@code libnccl-profiler.so}
     * @param ofNetwork true if the name is that of a network plug-in, whose library may contain a profiler, too
     * @throws JcclException if the plug-in cannot be opened; the message has the reason
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

    /** Returns the plug-in's name, file and version, for the log. */
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
    public void init(long id, String name, int hosts, int ranks, int rank) {
        if (init(handle, id, name, hosts, ranks, rank) != 0) {
            throw new JcclException(lastError());
        }
    }

    /**
     * Reports that an operation begins, or several as a group.
     *
     * @return events for {@link #stop}; 0 if the plug-in wants none of these operations
     */
    public long start(long[] rows) {
        return start(handle, rows);
    }

    /** Reports that the operations of {@link #start} have ended. */
    public void stop(long events) {
        stop(handle, events);
    }

    /** Ends the plug-in. Must be called once. */
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
