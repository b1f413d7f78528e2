package io.jccl.nativelib;

import java.lang.annotation.Native;

/** Layouts of the rows of numbers that native code and Java pass to each other: the place of each number in a row. */
public final class Rows {

    // An operation in the history of an engine.

    /** Sequence number of the operation. */
    @Native
    public static final int HISTORY_SEQUENCE = 0;
    /** Fingerprint that ranks compare. */
    @Native
    public static final int HISTORY_FINGERPRINT = 1;
    /** Collective, type and reduction, packed as {@link NativeEngine#run} takes them. */
    @Native
    public static final int HISTORY_OPERATION = 2;
    /** Root of the operation. */
    @Native
    public static final int HISTORY_ROOT = 3;
    /** Count of elements. */
    @Native
    public static final int HISTORY_COUNT = 4;
    /** State of the operation, a number of {@link Numbers#state}. */
    @Native
    public static final int HISTORY_STATE = 5;
    /** Begin of the operation by {@link System#nanoTime}; 0 if unknown. */
    @Native
    public static final int HISTORY_BEGUN = 6;
    /** End of the operation by {@link System#nanoTime}; 0 if unknown. */
    @Native
    public static final int HISTORY_ENDED = 7;
    /** Nanoseconds of the operation's long waits. */
    @Native
    public static final int HISTORY_WAITED = 8;
    /** Peer of the longest wait; -1 if no wait was long. */
    @Native
    public static final int HISTORY_WAITED_FOR = 9;
    /** Choice as {@link NativeEngine#run} returns it, without the bytes of a chunk. */
    @Native
    public static final int HISTORY_CHOICE = 10;
    /** Bytes of this rank's larger buffer if each rank has a count of its own, else 0. */
    @Native
    public static final int HISTORY_BYTES = 11;
    /** Length of the row. */
    @Native
    public static final int HISTORY_LENGTH = 12;

    // A group of sends and receives in the history of an engine.

    /** Number of the group among those of this rank. */
    @Native
    public static final int TRANSFERS_NUMBER = 0;
    /** Sequence number of the collective before the group. */
    @Native
    public static final int TRANSFERS_AFTER = 1;
    /** State of the group, a number of {@link Numbers#state}. */
    @Native
    public static final int TRANSFERS_STATE = 2;
    /** Count of the sends. */
    @Native
    public static final int TRANSFERS_SENDS = 3;
    /** Receiver of the first send, or -1. */
    @Native
    public static final int TRANSFERS_TO = 4;
    /** Bytes of all sends. */
    @Native
    public static final int TRANSFERS_SENT_BYTES = 5;
    /** Count of the receives. */
    @Native
    public static final int TRANSFERS_RECEIVES = 6;
    /** Sender of the first receive, or -1. */
    @Native
    public static final int TRANSFERS_FROM = 7;
    /** Bytes of all receives. */
    @Native
    public static final int TRANSFERS_RECEIVED_BYTES = 8;
    /** Begin of the group by {@link System#nanoTime}; 0 if unknown. */
    @Native
    public static final int TRANSFERS_BEGUN = 9;
    /** End of the group by {@link System#nanoTime}; 0 if unknown. */
    @Native
    public static final int TRANSFERS_ENDED = 10;
    /** Nanoseconds of the group's long waits. */
    @Native
    public static final int TRANSFERS_WAITED = 11;
    /** Peer of the longest wait; -1 if no wait was long. */
    @Native
    public static final int TRANSFERS_WAITED_FOR = 12;
    /** Length of the row. */
    @Native
    public static final int TRANSFERS_LENGTH = 13;

    // A channel that waits.

    /** Channel that waits. */
    @Native
    public static final int WAIT_CHANNEL = 0;
    /** Peer that the channel waits for. */
    @Native
    public static final int WAIT_PEER = 1;
    /** Transport to the peer, a number of {@link Numbers#transport}. */
    @Native
    public static final int WAIT_TRANSPORT = 2;
    /** What the channel waits for, a number of {@link Numbers#waitFor}. */
    @Native
    public static final int WAIT_FOR = 3;
    /** Protocol in use, a number of {@link Numbers#protocol}. */
    @Native
    public static final int WAIT_PROTOCOL = 4;
    /** Step of the connection that the channel waits for. */
    @Native
    public static final int WAIT_STEP = 5;
    /** Sequence number of the operation. */
    @Native
    public static final int WAIT_SEQUENCE = 6;
    /** Nanoseconds of the wait so far; -1 if unknown. */
    @Native
    public static final int WAIT_NANOS = 7;
    /** Length of the row. */
    @Native
    public static final int WAIT_LENGTH = 8;

    // A send or receive.

    /** {@link #TASK_SEND} or {@link #TASK_RECV}. */
    @Native
    public static final int TASK_KIND = 0;
    /** The other rank. */
    @Native
    public static final int TASK_PEER = 1;
    /** Type of the elements, a number of {@link Numbers#dataType}. */
    @Native
    public static final int TASK_TYPE = 2;
    /** Address of the elements. */
    @Native
    public static final int TASK_ADDRESS = 3;
    /** Count of elements. */
    @Native
    public static final int TASK_COUNT = 4;
    /** Length of the row. */
    @Native
    public static final int TASK_LENGTH = 5;
    /** Kind of a task that sends. */
    @Native
    public static final int TASK_SEND = 0;
    /** Kind of a task that receives. */
    @Native
    public static final int TASK_RECV = 1;
    /** Stands for a peer if nothing is sent, or nothing is received. */
    @Native
    public static final int NO_PEER = -1;

    // Counters of operations: for each collective by its number, then for each transport by its number.

    /** Count of the operations of a collective. */
    @Native
    public static final int COLLECTIVE_OPERATIONS = 0;
    /** Bytes of a collective. */
    @Native
    public static final int COLLECTIVE_BYTES = 1;
    /** Nanoseconds of a collective. */
    @Native
    public static final int COLLECTIVE_NANOS = 2;
    /** Operations of a collective that used the ranks' buffers in place, without copies to slots. */
    @Native
    public static final int COLLECTIVE_IN_PLACE = 3;
    /** Count of the numbers for each collective. */
    @Native
    public static final int COLLECTIVE_LENGTH = 4;
    /** Bytes that a transport sent, as encoded in slots. */
    @Native
    public static final int TRANSPORT_SENT_BYTES = 0;
    /** Long waits for peers that a transport reaches. */
    @Native
    public static final int TRANSPORT_LONG_WAITS = 1;
    /** Nanoseconds of these waits. */
    @Native
    public static final int TRANSPORT_WAITED = 2;
    /** Count of the numbers for each transport. */
    @Native
    public static final int TRANSPORT_LENGTH = 3;

    // The memory of a communicator, in bytes.

    /** Address space of this rank's segment. */
    @Native
    public static final int MEMORY_SEGMENT = 0;
    /** Part of the segment that memory backs. */
    @Native
    public static final int MEMORY_RESIDENT = 1;
    /** Buffers of network connections. */
    @Native
    public static final int MEMORY_NETWORK = 2;
    /** Length of the row. */
    @Native
    public static final int MEMORY_LENGTH = 3;

    // The network devices of a connection.

    /** Channel of the connection. */
    @Native
    static final int PATH_CHANNEL = 0;
    /** Sending rank. */
    @Native
    static final int PATH_FROM = 1;
    /** Receiving rank. */
    @Native
    static final int PATH_TO = 2;
    /** Number of the device by which the connection leaves the sender's host; -1 if unknown. */
    @Native
    static final int PATH_OUT = 3;
    /** Number of the device by which the connection enters the receiver's host; -1 if unknown. */
    @Native
    static final int PATH_IN = 4;
    /** Length of the row. */
    @Native
    public static final int PATH_LENGTH = 5;

    // A connection whose SIMPLE slots are in memory of a GPU.

    /** The other rank. */
    @Native
    static final int SLOT_USE_PEER = 0;
    /** Channel of the connection. */
    @Native
    static final int SLOT_USE_CHANNEL = 1;
    /** 1 for the sending end, 0 for the receiving end. */
    @Native
    static final int SLOT_USE_SENDS = 2;
    /** Number of the network device. */
    @Native
    static final int SLOT_USE_DEVICE = 3;
    /** Length of the row. */
    @Native
    static final int SLOT_USE_LENGTH = 4;

    // Addresses of the memory of a connection that kernels of a GPU use; an address is 0 if there is no such memory.

    @Native
    static final int STAGED_SEND_BLOCK = 0;

    @Native
    static final int STAGED_SEND_HEAD = 1;
    /** SIMPLE slots in memory of the GPU. */
    @Native
    static final int STAGED_SEND_SLOTS = 2;

    @Native
    static final int STAGED_RECV_BLOCK = 3;

    @Native
    static final int STAGED_RECV_HEAD = 4;
    /** SIMPLE slots in memory of the GPU. */
    @Native
    static final int STAGED_RECV_SLOTS = 5;
    /** Length of the row. */
    @Native
    static final int STAGED_LENGTH = 6;

    // Slots in memory of a GPU.

    /** Handle that owns the memory. */
    @Native
    static final int SLOTS_HANDLE = 0;
    /** Address of the first byte. */
    @Native
    static final int SLOTS_ADDRESS = 1;
    /** Size in bytes. */
    @Native
    static final int SLOTS_BYTES = 2;
    /** Descriptor of the memory as a dma-buf; -1 if there is none. */
    @Native
    static final int SLOTS_DMABUF = 3;
    /** Length of the row. */
    @Native
    static final int SLOTS_LENGTH = 4;

    // An operation that was put on a stream.

    /** Choice that was used, packed. */
    @Native
    public static final int ISSUED_CHOICE = 0;
    /** Sequence number of the collective that was entered last. */
    @Native
    public static final int ISSUED_SEQUENCE = 1;
    /** 1 if the operation was recorded for a graph, else 0. */
    @Native
    public static final int ISSUED_CAPTURED = 2;
    /** Length of the row. */
    @Native
    public static final int ISSUED_LENGTH = 3;

    private Rows() {}

    /**
     * Makes a row for {@link NativeEngine#setPaths}.
     *
     * @param out number of the device by which the connection leaves the sender's host; -1 if unknown
     * @param in number of the device by which the connection enters the receiver's host; -1 if unknown
     */
    public static int[] path(int channel, int from, int to, int out, int in) {
        int[] row = new int[PATH_LENGTH];
        row[PATH_CHANNEL] = channel;
        row[PATH_FROM] = from;
        row[PATH_TO] = to;
        row[PATH_OUT] = out;
        row[PATH_IN] = in;
        return row;
    }

    /** Makes a row for {@link NativeEngine#useDeviceSlots}. */
    public static int[] slotUse(int peer, int channel, boolean sends, int device) {
        int[] row = new int[SLOT_USE_LENGTH];
        row[SLOT_USE_PEER] = peer;
        row[SLOT_USE_CHANNEL] = channel;
        row[SLOT_USE_SENDS] = sends ? 1 : 0;
        row[SLOT_USE_DEVICE] = device;
        return row;
    }
}
