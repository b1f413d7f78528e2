package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.lang.annotation.Native;

/**
 * Devices, their memory and their streams, through the library of {@link CudaLoader}. Natives that return an
 * {@code int} return a {@link Code}, unless their name says what they return; {@link #lastError} returns the reason of
 * the calling thread's last failure. Any thread may call any method. The calling thread's current device changes only in
 * {@link #onDevice}.
 */
public final class NativeDevice {

    // Places in the row that describe() returns.

    @Native
    static final int UUID_HIGH = 0;

    @Native
    static final int UUID_LOW = 1;

    /** Compute capability times ten. */
    @Native
    static final int CAPABILITY = 2;

    @Native
    static final int MULTIPROCESSORS = 3;

    @Native
    static final int MEMORY_BYTES = 4;

    @Native
    static final int PCI_DOMAIN = 5;

    @Native
    static final int PCI_BUS = 6;

    @Native
    static final int PCI_DEVICE = 7;

    /** 1 if an MPS server serves this process. */
    @Native
    static final int SERVED_BY_MPS = 8;

    @Native
    static final int DESCRIPTION_LENGTH = 9;

    // Places in the row that blockBudget() returns: the number of blocks that can be resident at once, and the number
    // of these blocks that no communicator has taken.

    @Native
    static final int BUDGET_BLOCKS = 0;

    @Native
    static final int BUDGET_FREE = 1;

    @Native
    static final int BUDGET_LENGTH = 2;

    private NativeDevice() {}

    /** Returns the id of the library's build. */
    static native String buildId();

    /** Returns the reason of the calling thread's last failure. */
    static native String lastError();

    static native int count();

    /** Describes the driver in one line; null if the driver cannot be used. */
    static native String driver();

    /** Returns true if the driver compiles the kernels when they are loaded. */
    static native boolean compilesKernels();

    static native int loadKernels(int device);

    static native long[] describe(int device);

    static native long[] blockBudget(int device, int threads);

    private static native int enter(int device);

    private static native int leave();

    private static native long allocate(int device, long bytes);

    private static native int clear(int device, long address, long bytes);

    private static native int free(int device, long address);

    private static native long createStream(int device);

    private static native int destroyStream(int device, long stream);

    private static native int synchronize(int device, long stream);

    private static native int copy(int device, long to, long from, long bytes, long stream);

    private static native int beginCapture(int device, long stream);

    private static native long endCapture(int device, long stream);

    private static native int replay(int device, long graph, long stream);

    private static native int destroyGraph(int device, long graph);

    /** Runs a body with a device as the calling thread's current one, for another library that works on that device. */
    public static void onDevice(int device, Runnable body) {
        CudaLoader.load();
        require(enter(device), "device=" + device + ": cannot be made current");
        try {
            body.run();
        } finally {
            require(leave(), "device=" + device + ": cannot restore the current device");
        }
    }

    /** Returns the address of new memory of a device, which {@link #freeMemory} frees. */
    public static long allocateMemory(int device, long bytes) {
        CudaLoader.load();
        long address = allocate(device, Math.max(1, bytes));
        if (address == 0) {
            throw failed("device=" + device + " bytes=" + bytes + ": cannot allocate");
        }
        return address;
    }

    /** Sets all bytes of memory of a device to zero; waits until that is done. */
    public static void clearMemory(int device, long address, long bytes) {
        require(clear(device, address, bytes), "device=" + device + " bytes=" + bytes + ": cannot clear");
    }

    /** Frees memory of {@link #allocateMemory}; waits for all work on the device. */
    public static void freeMemory(int device, long address) {
        require(free(device, address), "device=" + device + ": cannot free");
    }

    /** Returns a new stream that does not wait for the default stream. {@link #closeStream} destroys it. */
    public static long newStream(int device) {
        CudaLoader.load();
        long stream = createStream(device);
        if (stream == 0) {
            throw failed("device=" + device + ": cannot make a stream");
        }
        return stream;
    }

    /** Destroys a stream. */
    public static void closeStream(int device, long stream) {
        require(destroyStream(device, stream), "device=" + device + ": cannot destroy the stream");
    }

    /** Waits until a stream has completed everything that was put on it. */
    public static void awaitStream(int device, long stream) {
        require(synchronize(device, stream), "device=" + device + ": the stream has failed");
    }

    /** Copies memory of a device or the host to memory of a device or the host, in the order of the stream. */
    public static void copyMemory(int device, long to, long from, long bytes, long stream) {
        require(copy(device, to, from, bytes, stream), "device=" + device + " bytes=" + bytes + ": cannot copy");
    }

    /**
     * Records the work that a body puts on a stream, instead of running the work.
     *
     * @return a graph for {@link #replayGraph}; {@link #freeGraph} frees it
     */
    public static long capture(int device, long stream, Runnable body) {
        require(beginCapture(device, stream), "device=" + device + ": the stream cannot be captured");
        long graph = 0;
        try {
            body.run();
        } finally {
            graph = endCapture(device, stream);
        }
        if (graph == 0) {
            throw failed("device=" + device + ": the captured work is no graph");
        }
        return graph;
    }

    /** Puts the captured work on a stream. The same graph may run any number of times, but only once at a time. */
    public static void replayGraph(int device, long graph, long stream) {
        require(replay(device, graph, stream), "device=" + device + ": the graph cannot be replayed");
    }

    /** Frees a graph. No stream may still have to run it. */
    public static void freeGraph(int device, long graph) {
        require(destroyGraph(device, graph), "device=" + device + ": the graph cannot be freed");
    }

    private static void require(int code, String what) {
        if (code < Code.OK) {
            throw failed(what);
        }
    }

    static DeviceException failed(String what) {
        return new DeviceException(what + ": " + lastError());
    }
}
