package io.jccl.nativelib;

import java.nio.Buffer;

/**
 * The native engine of one communicator: only primitives and addresses cross this border. {@link NativeEngine} calls what takes
 * a handle.
 *
 * <p>Methods that return an {@code int} return {@link #OK} or one of the negative codes below; {@link #lastError} then says
 * what happened, for operations by the handle and for other methods with 0, as {@code name=value} facts. No method throws, except an {@link OutOfMemoryError} of the JVM itself.
 *
 * <p><b>Threads.</b> {@code create … prepare} and {@code run …} by one thread at a time. {@link #abort}, {@link #lastError},
 * {@link #history}, {@link #lastEntered}, {@link #lastDone}, {@link #waiting} and {@link #memoryUsage} by any thread at any
 * time before {@link #destroy}.
 *
 * <p><b>Failures.</b> A communicator whose operation failed (every code but {@link #INVALID}) stays failed: its ranks no longer
 * agree on how far they are. Every later operation returns the first code at once.
 */
public final class NativeCommunicator {

    // Codes. The native names are in native/base/status.h.

    /** All is well. */
    public static final int OK = 0;
    /** An argument or the order of calls is wrong; nothing has happened. */
    public static final int INVALID = -1;
    /** The deadline of an operation passed. */
    public static final int TIMEOUT = -2;
    /** The communicator was aborted. */
    public static final int ABORTED = -3;
    /** A peer runs another operation, or the same with other arguments. */
    public static final int MISMATCH = -4;
    /** A connection failed. */
    public static final int TRANSPORT = -5;
    /** A system call failed. */
    public static final int SYSTEM = -6;
    /** A broken promise inside the library. */
    public static final int INTERNAL = -7;
    /** Memory could not be had. */
    public static final int NO_MEMORY = -8;

    /** In the place of a {@link io.jccl.ReduceOp}'s ordinal: a user-defined reduction. */
    public static final int USER_REDUCTION = 8;

    // Indexes into the array of create(). A value of 0 asks for the default where one is named.

    /** This rank. */
    public static final int RANK = 0;
    /** Ranks in the communicator. */
    public static final int SIZE = 1;
    /** Channels, at least 1; the same on all ranks. */
    public static final int CHANNELS = 2;
    /** Bytes of a SIMPLE slot (an eighth of JCCL_BUFFSIZE); default 256 KiB; the same on all ranks. */
    public static final int SIMPLE_SLOT_BYTES = 3;
    /** Bytes of an LL slot on the wire (an eighth of JCCL_LL_BUFFSIZE); default 16 KiB; the same on all ranks. */
    public static final int LL_SLOT_BYTES = 4;
    /** Bytes of an LL128 slot on the wire (an eighth of JCCL_LL128_BUFFSIZE); default 32 KiB; the same on all ranks. */
    public static final int LL128_SLOT_BYTES = 5;
    /** Ranks that share this host's processors. */
    public static final int LOCAL_RANKS = 6;
    /** Processors that the local ranks may use; default: those this process may use. */
    public static final int CORES = 7;
    /** How long a wait spins before it yields, in nanoseconds; -1: chosen from SHARING_RANKS and SHARED_CORES. */
    public static final int SPIN_NANOS = 8;
    /** TCP streams per network connection; default 1; the same on all ranks. */
    public static final int STREAMS_PER_CONNECTION = 9;
    /** The communicator's 128-bit id, different for every communicator: high half. */
    public static final int COMM_ID_HI = 10;
    /** The id's low half. */
    public static final int COMM_ID_LO = 11;
    /** The job's secret, with which data sockets authenticate: the first of four words. */
    public static final int SECRET_0 = 12;
    /** Second word of the secret. */
    public static final int SECRET_1 = 13;
    /** Third word of the secret. */
    public static final int SECRET_2 = 14;
    /** Fourth word of the secret. */
    public static final int SECRET_3 = 15;
    /** Time for a network connection to be made, in nanoseconds; default 20 s. */
    public static final int CONNECT_TIMEOUT_NANOS = 16;
    /** 1: ranks that share processors spread over them evenly; 0: they stay where the system puts them. */
    public static final int RANK_PLACEMENT = 17;
    /** 1: InfiniBand verbs are offered beside sockets, where there are adapters. */
    public static final int IB_USED = 18;
    /** Index of the GID; -1: chosen by the interface's address. */
    public static final int IB_GID_INDEX = 19;
    /** Version of RoCE preferred where the GID index is chosen: 1 or 2. */
    public static final int IB_ROCE_VERSION = 20;
    /** 1: IPv6 GIDs are preferred where the index is chosen. */
    public static final int IB_IPV6 = 21;
    /** A queue pair waits 4.096 µs · 2^this for an acknowledgement; 0 to 31. */
    public static final int IB_TIMEOUT = 22;
    /** How often it waits again; 0 to 7. */
    public static final int IB_RETRY_COUNT = 23;
    /** Traffic class of RoCE packets. */
    public static final int IB_TRAFFIC_CLASS = 24;
    /** Service level. */
    public static final int IB_SERVICE_LEVEL = 25;
    /** Index of the partition key. */
    public static final int IB_PKEY_INDEX = 26;
    /** Queue pairs per connection; the same on all ranks. */
    public static final int IB_QUEUE_PAIRS = 27;
    /** 1: each message over all queue pairs; 0: over one, in rotation; the same on all ranks. */
    public static final int IB_SPLIT_DATA = 28;
    /** 1: memory is registered for relaxed ordering where the adapter offers it. */
    public static final int IB_RELAXED_ORDERING = 29;
    /** A network peer whose host leaves something unanswered for so many nanoseconds is gone; default 15 s. */
    public static final int PEER_TIMEOUT_NANOS = 30;
    /** Threads that move the data of TCP connections, whoever waits for it among them: up to 16; default 1. */
    public static final int SOCKET_THREADS = 31;
    /** The local ranks whose processors overlap with this one's, directly or through others; default LOCAL_RANKS. */
    public static final int SHARING_RANKS = 32;
    /** The processors of these ranks; default CORES. */
    public static final int SHARED_CORES = 33;
    /** How many operations {@link #history} keeps at least, rounded up to a power of two; 0: 256, without times. */
    public static final int RECORDED_OPERATIONS = 34;
    /** Length of the array. */
    public static final int CONFIG_LENGTH = 35;

    // Indexes into the texts of create().

    /** Name or path of libibverbs. */
    public static final int TEXT_IB_LIBRARY = 0;
    /** Which adapters, as JCCL_IB_HCA says. */
    public static final int TEXT_IB_HCA = 1;
    /** The numbers of network devices: lines of a number, a space, and the name of an interface or {@code ADAPTER:PORT}. */
    public static final int TEXT_NET_DEVICES = 2;
    /** The network plug-in to offer beside sockets, as JCCL_NET_PLUGIN names one; empty: none. */
    public static final int TEXT_NET_PLUGIN = 3;
    /** The communicator's name in log records, without spaces. */
    public static final int TEXT_COMMUNICATOR = 4;
    /** Length of the texts. */
    public static final int TEXTS_LENGTH = 5;

    // Transports, the ordinals of io.jccl.TransportKind.

    /** The peer is a thread of this process. */
    public static final int TRANSPORT_P2P = 0;
    /** The peer is a process of this host. */
    public static final int TRANSPORT_SHM = 1;
    /** The peer is reached by a network plug-in. */
    public static final int TRANSPORT_PLUGIN = 2;
    /** The peer is reached by InfiniBand verbs. */
    public static final int TRANSPORT_IB = 3;
    /** The peer is reached by sockets. */
    public static final int TRANSPORT_SOCKET = 4;

    // Flags of a choice.

    /** Try to read and write the buffers in place; the same on all ranks of the operation. */
    public static final int FLAG_TRY_ZERO_COPY = 1;
    /** In what {@link #run} returns: the buffers were read and written in place. */
    public static final int FLAG_ZERO_COPY_USED = 2;
    /** A direct all-reduce is two-shot; the same on all ranks of the operation. */
    public static final int FLAG_TWO_SHOT = 4;
    /** A direct operation in which one rank of each host sends to others; the same on all ranks of the operation. */
    public static final int FLAG_BY_HOSTS = 8;

    // Point-to-point tasks.

    /** Longs per task: kind, peer, type, address, count. */
    public static final int TASK_LENGTH = 5;
    /** The kind of a task that sends. */
    public static final int TASK_SEND = 0;
    /** The kind of a task that receives. */
    public static final int TASK_RECV = 1;
    /** Instead of a peer: nothing is sent, or nothing received. */
    public static final int NO_PEER = -1;

    // Rows of history() and waiting().

    /**
     * Longs in a row of {@link #history}: sequence, fingerprint, operation, root, count, state; when it began and ended, by
     * {@link System#nanoTime}, 0 where not known; the nanoseconds of its long waits, and the peer of the longest, -1 if there
     * was none; the choice as {@link #run} returns it, without chunkBytes; where each rank has a count, the bytes of this
     * rank's larger buffer, else 0.
     */
    public static final int HISTORY_LENGTH = 12;
    /** In a row of {@link #history}: when the operation began. */
    public static final int HISTORY_BEGUN = 6;
    /** The same: when it ended. */
    public static final int HISTORY_ENDED = 7;
    /** The same: how long it has waited, in waits that were long. */
    public static final int HISTORY_WAITED = 8;
    /** The same: for which peer the longest. */
    public static final int HISTORY_WAITED_FOR = 9;
    /** The same: how it is executed. */
    public static final int HISTORY_CHOICE = 10;
    /** The same: bytes, instead of a count. */
    public static final int HISTORY_BYTES = 11;
    /**
     * Longs in a row of {@link #transfers}: number, sequence of the operation before, state; how many are sent, to whom the
     * first, bytes of all; how many are received, from whom the first, bytes of all; then as in a row of {@link #history}: when
     * it began and ended, how long it has waited and for whom.
     */
    public static final int TRANSFERS_LENGTH = 13;
    /** State of an operation in flight. */
    public static final int STATE_RUNNING = 1;
    /** State of an operation that is done. */
    public static final int STATE_DONE = 2;
    /** State of an operation that failed. */
    public static final int STATE_FAILED = 3;
    /**
     * Longs in a row of {@link #waiting}: channel, peer, transport, waitFor, protocol, step, sequence, nanoseconds so far or
     * -1.
     */
    public static final int WAITING_LENGTH = 8;
    /** waitFor: data from the peer. */
    public static final int WAIT_DATA = 0;
    /** waitFor: credit to send to the peer. */
    public static final int WAIT_CREDIT = 1;
    /** waitFor: the peer's buffer-exchange descriptor or its completion flag. */
    public static final int WAIT_BUFFER_EXCHANGE = 2;

    private NativeCommunicator() {}

    /**
     * Makes a native communicator without connections.
     *
     * @param config values at the indexes above
     * @param texts texts at the indexes above
     * @return a handle, or 0: {@link #lastError lastError(0)} says why
     */
    static native long create(long[] config, String[] texts);

    /**
     * What the peers need to connect to this rank; opaque, at most 2 KiB. Starts listening on the network.
     *
     * @param netAddresses numeric addresses of this host; empty or null: no network
     * @return null on failure
     */
    static native byte[] connectInfo(long comm, String[] netAddresses);

    /**
     * Connects to a peer, in both directions and on all channels. Network connections are completed when first used.
     *
     * @param transport one of the TRANSPORT constants
     * @param peerInfo what the peer's {@link #connectInfo} returned
     */
    static native int connect(long comm, int peer, int transport, byte[] peerInfo);

    /** Whether this transport can reach the peer: {@link #OK}, or a code and the reason in {@link #lastError}. */
    static native int probe(long comm, int peer, int transport, byte[] peerInfo);

    /**
     * Sets the ring of a channel.
     *
     * @param order every rank once, in the order of the ring, starting anywhere
     */
    static native int setRing(long comm, int channel, int[] order);

    /**
     * Sets this rank's place in the tree of a channel.
     *
     * @param up the parent, -1 at the root
     * @param down the children, at most 3
     */
    static native int setTree(long comm, int channel, int up, int[] down);

    /**
     * Says which ranks share a host, for operations by hosts.
     *
     * @param hostOf by rank, numbered from 0 in the order of the hosts' first ranks
     */
    static native int setHosts(long comm, int[] hostOf);

    /** Ints in a row of {@link #setPaths}: channel, from, to, out, in. */
    public static final int PATH_LENGTH = 5;

    /**
     * Sets the network devices by which connections go; the others use all devices in rotation. Call it after connect.
     *
     * @param paths rows of {@link #PATH_LENGTH}: the connection, the number of the device by which it leaves the host of
     *     {@code from}, and of that by which it enters the other, -1 where that is not known. The first row of a connection
     *     counts. One whose {@code from} and {@code to} are this rank is for all connections of the channel without a row
     */
    static native int setPaths(long comm, int[] paths);

    /**
     * Checks that all connections that rings and trees need have been made; those by InfiniBand verbs or a network plug-in are
     * made and tried now, so all ranks must call it at about the same time. Call it once, when all is set.
     */
    static native int prepare(long comm);

    /** Ints in a row of {@link #useDeviceSlots}: peer, channel, 1 to send and 0 to receive, device number. */
    public static final int SLOT_USE_LENGTH = 4;

    /**
     * Says which connections shall have SIMPLE slots in memory of a GPU, by the device numbers of which adapters. Call it before
     * connect; where these adapters do not reach the memory, a warning says so, and nothing else changes. The memory outlives
     * the communicator.
     *
     * @param address of that memory
     * @param bytes of it
     * @param dmabuf a descriptor of all of it, which stays the caller's; -1: there is none
     * @param rows of {@link #SLOT_USE_LENGTH}
     */
    static native int useDeviceSlots(long comm, long address, long bytes, int dmabuf, int[] rows);

    /** Ints in a row of {@link #forwardFor}: from, to, channel, device number, 1 if a ring or a tree needs it. */
    public static final int FORWARDED_LENGTH = 5;

    /**
     * Forwards for other ranks of this host (PXN): their sends leave from memory of this rank's GPU, by the adapters with these
     * device numbers. Call it before connectInfo; where these adapters do not reach the memory, a warning says so, and nothing
     * is forwarded. The memory outlives the communicator.
     *
     * @param address of the slots, one connection's behind the other's
     * @param bytes of them
     * @param dmabuf a descriptor of all of them, which stays the caller's; -1: there is none
     * @param rows of {@link #FORWARDED_LENGTH}
     */
    static native int forwardFor(long comm, long address, long bytes, int dmabuf, int[] rows);

    /** Ints in a row of {@link #sendThrough}: peer, channel, place among the rows that the other rank gave forwardFor. */
    public static final int REQUEST_LENGTH = 3;

    /**
     * Sends through the GPU of another rank that forwards, or says in a warning why that cannot be. Call it after the
     * {@code connectInfo} of all ranks, and before connect.
     *
     * @param forwarder that rank
     * @param info what its {@link #connectInfo} returned
     * @param connections how many it was asked to forward, by all ranks
     * @param slots the address of these connections' slots, as this rank's GPU reaches them
     * @param rows of {@link #REQUEST_LENGTH}
     */
    static native int sendThrough(long comm, int forwarder, byte[] info, int connections, long slots, int[] rows);

    /** What {@link #senders} returns: no other rank sends through this one's GPU any more. */
    public static final int SENDERS_NONE = 0;

    /** The same: threads of this process do, and no others. */
    public static final int SENDERS_HERE = 1;

    /** Which ranks still send through this one's GPU; by any thread until {@link #destroy}. */
    static native int senders(long comm);

    /** Longs in a row of {@link #stage}. */
    static final int STAGED_ENDS_LENGTH = 6;

    /**
     * Gives connections with a peer to kernels of a GPU; no operation may run over them any more. After {@link #prepare}.
     *
     * @param channels which
     * @return rows of {@link #STAGED_ENDS_LENGTH}, one for each: the addresses of the block to send into, its head, its SIMPLE
     *     slots in memory of the GPU or 0, and the same three to receive from; null on failure
     */
    static native long[] stage(long comm, int peer, int[] channels);

    /**
     * The memory of connections that are staged, which stays mapped until {@link NativeDeviceCommunicator#connectStaged}'s
     * communicator needs it no more: that takes what this returns, once.
     */
    static native long shareMemory(long comm);

    /**
     * Moves what was staged from now on, where any of it leads over a network.
     *
     * @param controls {@link NativeDeviceCommunicator#controls}, which end with {@link #TRANSPORT} when the network has
     *     failed; outlive the communicator
     * @return the address of what counts operations as they begin and end, 0 where no network is used, or -1: {@link
     *     #lastError} says why nothing can be moved
     */
    static native long startStaging(long comm, long controls);

    /**
     * Runs one collective and returns when this rank's buffers are done with.
     *
     * <p>{@code count} is: all_gather, the elements that each rank sends; reduce_scatter, the elements that each rank receives;
     * all_to_all, gather and scatter, the elements per pair; otherwise the elements of the buffer.
     *
     * @param operation collective | type &lt;&lt; 8 | reduction &lt;&lt; 16, each the ordinal of its enum
     * @param choice algorithm | protocol &lt;&lt; 4 | channels &lt;&lt; 8 | flags &lt;&lt; 16 | chunkBytes &lt;&lt; 32; chunkBytes 0: the
     *     engine's default. The same on all ranks
     * @param send address of the send buffer; may equal {@code recv}, or for all_gather, reduce_scatter, gather and scatter
     *     this rank's part of it
     * @param recv address of the receive buffer
     * @param timeoutNanos from the start of the operation; 0: none
     * @return the choice that was used, packed like {@code choice}, or a status below {@link #OK}
     */
    static native long run(
            long comm, int operation, long choice, long send, long recv, long count, int root, long timeoutNanos);

    /**
     * Runs one collective with a count per rank.
     *
     * @param operation as for {@link #run}; with {@link #USER_REDUCTION} it exchanges elements as all_to_all does, and Java
     *     reduces them
     * @param counts in elements. all_gather and gather: the count of every rank, then where each rank's part is in {@code recv};
     *     reduce_scatter and scatter: the count of every rank, then where each part is in {@code send}; all_to_all: send counts,
     *     send displacements, receive counts, receive displacements
     * @param root of gather and scatter
     * @return as {@link #run}
     */
    static native long runV(
            long comm, int operation, long choice, long send, long recv, long[] counts, int root, long timeoutNanos);

    /**
     * Runs one part of a collective that all ranks cut into parts alike; each is an operation of the sequence.
     *
     * @param whole the elements of the whole, as {@code count} of {@link #run} counts them: what messages state, and what all
     *     ranks must agree on beside what this part is
     * @param begin where this part begins
     * @return as {@link #run}
     */
    static native long runPart(
            long comm,
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long whole,
            long begin,
            long timeoutNanos);

    /**
     * The same with a count per rank.
     *
     * @param counts of this part
     * @param whole the elements of all ranks together
     * @return as {@link #run}
     */
    static native long runVPart(
            long comm,
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long whole,
            long begin,
            long timeoutNanos);

    /**
     * Runs sends and receives at once. Those to one peer are matched in order with those of the peer. They have no sequence
     * number: not all ranks take part.
     *
     * @param tasks {@link #TASK_LENGTH} longs per task
     * @return as {@link #run}
     */
    static native long runPointToPoint(long comm, long[] tasks, long timeoutNanos);

    /**
     * Runs a send and a receive at once, or one of them: {@link #runPointToPoint} without an array.
     *
     * @param send address of what is sent
     * @param sendType the ordinal of the type
     * @param to the receiving rank; {@link #NO_PEER}: nothing is sent
     * @param recv address of where elements go
     * @param recvType the ordinal of the type
     * @param from the sending rank; {@link #NO_PEER}: nothing is received
     * @return as {@link #run}
     */
    static native long sendReceive(
            long comm,
            long send,
            long sendCount,
            int sendType,
            int to,
            long recv,
            long recvCount,
            int recvType,
            int from,
            long timeoutNanos);

    /** Ends every wait inside, now and for ever, with this code. Returns at once and frees nothing. */
    static native void abort(long comm, int code);

    /** Frees the communicator; no call may be inside. */
    static native void destroy(long comm);

    /**
     * The reason of the last failure; empty if there was none.
     *
     * @param comm whose operation failed, or 0 for the calling thread's last call that was no operation
     */
    static native String lastError(long comm);

    /** The record of an operation (see {@link #HISTORY_LENGTH}); empty when it is no longer, or not yet, on record. */
    static native long[] history(long comm, long sequence);

    /**
     * The record of a group of sends and receives (see {@link #TRANSFERS_LENGTH}) by its number among this rank's; empty when
     * it is no longer, or not yet, on record.
     */
    static native long[] transfers(long comm, long number);

    /** The number of the last group of sends and receives that has begun; the first is 1. */
    static native long lastTransfers(long comm);

    /** Longs of {@link #counters} for each {@link io.jccl.Collective}: operations, bytes, nanoseconds, operations in place. */
    public static final int COLLECTIVE_COUNTERS = 4;

    /** Then, for each {@link io.jccl.TransportKind}: bytes sent, as they lie in slots; long waits; their nanoseconds. */
    public static final int TRANSPORT_COUNTERS = 3;

    /** What operations that ended well have counted since the communicator was made. */
    static native long[] counters(long comm);

    /** Informs the engines of the process of the time, for what needs it to a twentieth of a second only. */
    static native void tick();

    /** The sequence number of the last operation entered; the first is 1. */
    static native long lastEntered(long comm);

    /** The sequence number of the last operation done. */
    static native long lastDone(long comm);

    /** Rows (see {@link #WAITING_LENGTH}), one for every channel whose wait has become long. */
    static native long[] waiting(long comm);

    /** Bytes: address space of the own segment, how much of it is backed by memory, buffers of network connections. */
    static native long[] memoryUsage(long comm);

    /**
     * Keeps memory of a {@code HostBuffer}, or what {@link NativeMemory#registered} has registered, known to the adapters that
     * operations use it with. By any thread.
     *
     * @return its number for {@link #dropMemory}, or 0: the network in use needs no such thing
     */
    static native long keepMemory(long comm, long address, long bytes);

    /** Ends what {@link #keepMemory} began, by any thread; no operation over the memory is executed. */
    static native void dropMemory(long comm, long number);

    /** The address of a direct buffer's first byte (position 0), or 0 if it is none. */
    public static native long directAddress(Buffer buffer);

    /** Zeroed memory that other processes of this host can read and write in place; 0 on failure. */
    public static native long sharedAlloc(long bytes);

    /** Gives the pages of such memory back; its addresses stay readable and writable until {@link #sharedFree}. */
    public static native int sharedRetire(long address);

    /** Frees memory of {@link #sharedAlloc}. */
    public static native int sharedFree(long address);

    /**
     * The members of the enums that cross the border, as the native side numbers them: a line {@code DataType.0=int8} for each.
     * The constants of this class need no such list: the native side is compiled against them.
     */
    static native String constants();
}
