package io.jccl.nativelib;

import org.jspecify.annotations.Nullable;

/**
 * The runtime of one communicator on a GPU: only primitives and addresses cross this border. Codes are those of
 * {@link NativeCommunicator}.
 *
 * <p><b>Order.</b> {@link #create}, {@link #setRing} and {@link #setTree} for every channel, {@link #connectInfo},
 * {@link #connect} for every peer, {@link #prepare}, then operations, which are put on a stream and return at once.
 *
 * <p><b>Threads.</b> {@code create … prepare} and {@code run …} by one thread at a time; the others by any thread at any time
 * before {@link #destroy}.
 */
public final class NativeDeviceCommunicator {

    // Indexes into the array of create().

    /** This rank. */
    public static final int RANK = 0;
    /** Ranks in the communicator. */
    public static final int SIZE = 1;
    /** Channels, at least 1; the same on all ranks. */
    public static final int CHANNELS = 2;
    /** The number of the device in this process. */
    public static final int DEVICE = 3;
    /** Threads of a block: whole warps, at least two. */
    public static final int THREADS = 4;
    /** Bytes of a SIMPLE slot; the same on all ranks, as the next two. */
    public static final int SIMPLE_SLOT_BYTES = 5;
    /** Bytes of an LL slot. */
    public static final int LL_SLOT_BYTES = 6;
    /** Bytes of an LL128 slot. */
    public static final int LL128_SLOT_BYTES = 7;
    /** The communicator's 128-bit id: high half. */
    public static final int COMM_ID_HI = 8;
    /** The id's low half. */
    public static final int COMM_ID_LO = 9;
    /** 1: other processes get the segment as a file descriptor, where the driver has such. */
    public static final int DESCRIPTORS = 10;
    /** Bytes of a slot for NVLS; the same on all ranks. */
    public static final int NVLS_SLOT_BYTES = 11;
    /** As {@link NativeCommunicator#RECORDED_OPERATIONS}. */
    public static final int RECORDED_OPERATIONS = 12;
    /** Length of the array. */
    public static final int CONFIG_LENGTH = 13;

    /** Of {@link #query}: the operation is not over. */
    public static final int PENDING = 0;
    /** Of {@link #query}: it has ended well. */
    public static final int DONE = 1;

    /** Set in an operation's number where {@link #takeNotice} has something. */
    static final long NOTICE = 1L << 62;

    private NativeDeviceCommunicator() {}

    /** Makes a communicator without connections: a handle, or 0, and {@link #lastError lastError(0)} says why. */
    static native long create(long[] config);

    static native int setRing(long comm, int channel, int[] order);

    static native int setTree(long comm, int channel, int up, int[] down);

    /** What the peers need to connect; null on failure. Allocates the memory of the connections. */
    static native byte[] connectInfo(long comm);

    /** The descriptor of the memory that {@link #connectInfo} allocated, which the caller closes; -1 if it has none. */
    static native int takeDescriptor(long comm);

    /** How other processes get the memory of the connections, as text. */
    static native String handleExchange(long comm);

    /**
     * Connects to a peer by its own memory.
     *
     * @param descriptor of the peer's memory, which is closed; -1 if there is none
     */
    static native int connect(long comm, int peer, byte[] info, int descriptor);

    /** Whether {@link #connect} was refused a descriptor. */
    static native boolean refusedDescriptor(long comm);

    /** Begins again at {@link #connectInfo}, without descriptors. */
    static native void renounceDescriptors(long comm, String why);

    /** The peer is on another host: no memory is taken for it. Before {@link #connectInfo}. */
    static native int setStaged(long comm, int peer);

    /** The channels whose connections with a peer are used. */
    static native int[] stagedChannels(long comm, int peer);

    /**
     * Makes memory of the GPU for the SIMPLE slots of so many connections, once.
     *
     * @return its handle, address, bytes, and a descriptor of it as a dma-buf or -1; null on failure
     */
    static native long[] makeDeviceSlots(long comm, int connections);

    /** Gives up such a handle; the memory lives on while the communicator does. */
    static native void releaseDeviceSlots(long slots);

    /** How many connections this rank forwards for others, whose slots its memory will have. Before {@link #connectInfo}. */
    static native void setForwarded(long comm, int connections);

    /** These slots, for this rank's adapters, as {@link #makeDeviceSlots}; after {@link #connectInfo}. */
    static native long[] forwardedSlots(long comm);

    /** The address of those of a peer, as this rank's GPU reaches them; 0 where it does not. After {@link #connect}. */
    static native long forwardedSlotsOf(long comm, int peer);

    /**
     * Connects to a peer whose memory is not reached, by memory of the host.
     *
     * @param network whether a network is between them
     * @param rows what {@link NativeCommunicator#stage} returned for {@link #stagedChannels}
     * @param memory what {@link NativeCommunicator#shareMemory} returned, which this gives up
     */
    static native int connectStaged(long comm, int peer, boolean network, long[] rows, long memory);

    /** This rank's place in the chain of a channel to a network that reduces; -1: nobody. Before {@link #connectInfo}. */
    static native int setChain(long comm, int channel, int up, int down, int after, int before, int ranks, int place);

    /** The same in the tree of its host, after {@link #setChain}. */
    static native int setHostTree(long comm, int channel, int up, int[] down);

    /**
     * A network reduces on the first channels; before {@link #prepare}.
     *
     * @param rows what {@link NativeCollNet#stage} returned
     * @param memory as in {@link #connectStaged}
     */
    static native int connectCollNet(long comm, long[] rows, long memory);

    /** It does not. */
    static native void dropCollNet(long comm);

    /** The address of what ends the waits of the kernels, for {@link NativeCommunicator#startStaging}. */
    static native long controls(long comm);

    /**
     * Makes the communicator ready for operations.
     *
     * @param inPlace whether all ranks are threads of this process that reach each other's memory
     * @param activity what {@link NativeCommunicator#startStaging} returned, or 0
     */
    static native int prepare(long comm, boolean inPlace, long activity);

    /**
     * Makes a multicast object for NVLS, behind {@link #prepare}: what the others need to join, or null on failure. Then all join;
     * when all have, all bind; when all have, all test it together.
     */
    static native byte[] createMulticast(long comm);

    /** The descriptor of the object, which the caller closes; -1 if it has none. */
    static native int takeMulticastDescriptor(long comm);

    /**
     * Joins an object.
     *
     * @param descriptor of the object, which is closed; -1 where a rank of this process made it
     */
    static native int joinMulticast(long comm, byte[] info, int descriptor);

    static native int bindMulticast(long comm);

    static native int testMulticast(long comm, long timeoutNanos);

    /** Gives the object back, on all ranks where any of them has failed. */
    static native void dropMulticast(long comm);

    /** Whether NVLS executes an operation of this signature, where there is an object. */
    static native boolean nvlsExecutes(int operation);

    static native int selfTest(long comm, int protocol, long timeoutNanos);

    /**
     * Begins to register a buffer, on which ranks of several processes work in place from {@link #useBuffer} on: what the others
     * need to open it, or null on failure. All ranks do this together, when their operations are over; then each opens those of
     * all others; when all have, all use them, else all drop them.
     */
    static native byte[] describeBuffer(long comm, long address, long bytes);

    /** Descriptors for other processes, which the caller closes: of the buffer, -1 if it needs none, and of the access page. */
    static native int[] takeBufferDescriptors(long comm);

    /**
     * Opens a peer's.
     *
     * @param buffer what this process got for the peer's descriptors, which are closed; -1 if it got none
     * @return the address of the peer's buffer in this process, or a code
     */
    static native long openBuffer(long comm, int peer, byte[] info, int buffer, int page, long timeoutNanos);

    /**
     * Uses it from here on.
     *
     * @param there by peer, what its {@link #openBuffer} returned for this rank
     * @return its number, or a code
     */
    static native long useBuffer(long comm, long[] there);

    static native int dropBuffer(long comm, long timeoutNanos);

    /** Closes what was opened for it; the buffer may be freed when all ranks have. */
    static native int closeBuffer(long comm, long number, long timeoutNanos);

    /**
     * Puts a collective on a stream; the arguments are those of {@link NativeCommunicator#run} with device addresses.
     *
     * @param stream a {@code cudaStream_t}
     * @return the operation's number, at least 1, and perhaps {@link #NOTICE}, or a code
     */
    static native long run(
            long comm,
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long timeoutNanos,
            long stream);

    static native long runV(
            long comm,
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long timeoutNanos,
            long stream);

    static native long runPointToPoint(long comm, long[] tasks, long timeoutNanos, long stream);

    /** The operations that {@code run …} is given from here on are kept, and answered with 0, until {@link #endGroup}. */
    static native void beginGroup(long comm);

    /**
     * Puts what was kept on a stream, in its order and in as few launches as that takes.
     *
     * @return the number of the last operation, or a code; with {@link NativeCommunicator#INVALID} nothing was issued
     */
    static native long endGroup(long comm, long timeoutNanos, long stream);

    /** Forgets what was kept. */
    static native void dropGroup(long comm);

    /** {@link #PENDING}, {@link #DONE}, or the code that the operation ended with. */
    static native int query(long comm, long number);

    /** The nearest choice that fits the runtime. */
    static native long adjustChoice(long comm, int operation, long choice);

    /** The stream of operations whose caller names none. */
    static native long ownStream(long comm);

    /** What to warn of where ranks of this process use more streams than have a hardware queue each, or null. */
    static native @Nullable String crowding(long comm);

    /** What to warn of that was not taken yet. */
    static native String takeNotice(long comm);

    static native void abort(long comm, int code);

    /** Ends what is in flight and frees. */
    static native void destroy(long comm);

    static native String lastError(long comm);

    /** Rows as {@link NativeCommunicator#waiting} gives them. */
    static native long[] waiting(long comm);

    /** The record of a collective as {@link NativeCommunicator#history} gives it; an operation is entered when it is issued. */
    static native long[] history(long comm, long sequence);

    /** The record of sends and receives as {@link NativeCommunicator#transfers} gives it; they begin when they are issued. */
    static native long[] transfers(long comm, long number);

    /** The number of the last sends and receives that were issued; the first is 1. */
    static native long lastTransfers(long comm);

    /** The number of the collective issued last, of a sequence that only those on the device have; the first is 1. */
    static native long lastEntered(long comm);

    /** The number of the collective done last. */
    static native long lastDone(long comm);

    /** The number of the collective that failed first, 0 if none has. */
    static native long failedSequence(long comm);

    static native long deviceBytes(long comm);
}
