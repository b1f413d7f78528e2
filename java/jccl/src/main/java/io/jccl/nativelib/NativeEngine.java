package io.jccl.nativelib;

import io.jccl.DataType;
import io.jccl.JcclException;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.lang.annotation.Native;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Engine of a communicator for memory of the host.
 *
 * <p><b>Order.</b> {@link #create}, {@link #useDeviceSlots}, {@link #connectInfo}, {@link #connect} for every peer, rings, trees, {@link #setPaths} and {@link #setHosts},
 * {@link #prepare}, then operations.
 *
 * <p><b>Threads.</b> One thread at a time calls these methods. Any thread may ask for the history, the waits, the
 * memory and the counters, and may {@link #abort}. The owner ensures that no operation runs when {@link #destroy()} is
 * called.
 *
 * <p><b>Failures.</b> An engine whose operation failed with any code but {@link Code#INVALID} stays failed, because its
 * ranks no longer agree on their progress. Every later operation returns the first code at once.
 */
public final class NativeEngine extends Engine {

    private static final Logger LOG = LoggerFactory.getLogger(NativeEngine.class);

    /**
     * Maximum time for which a closing rank forwards for ranks of other processes, which usually close at the same
     * time.
     */
    private static final Duration FORWARDING_TIMEOUT = Duration.ofSeconds(10);

    private static final long FORWARDING_POLL_MILLIS = 5;

    // Ranks that still use memory of this rank: none, only ranks of this process, or ranks of other processes too.

    @Native
    private static final int USERS_NONE = 0;

    @Native
    private static final int USERS_HERE = 1;

    @Native
    private static final int USERS_ELSEWHERE = 2;

    private final List<DeviceSlots> slots = new ArrayList<>();
    private final LogThread.Use logs;

    private NativeEngine(long handle, LogThread.Use logs) {
        super(handle);
        this.logs = logs;
    }

    /**
     * Creates an engine without connections.
     *
     * @throws JcclException if that fails; the message has the reason
     */
    public static NativeEngine create(EngineConfig config) {
        NativeLoader.load();
        LogThread.Use logs = LogThread.use();
        long handle = create(config.numbers, config.texts);
        if (handle == 0) {
            String reason = callError();
            logs.close();
            throw new JcclException("the native engine cannot be made: " + reason);
        }
        return new NativeEngine(handle, logs);
    }

    /**
     * Starts to listen, and returns what the peers need to connect to this rank: at most 2 KiB, which only native code
     * reads.
     *
     * @param addresses numeric addresses of this host; empty for an engine without a network
     * @throws JcclException if this rank cannot listen
     */
    public byte[] connectInfo(List<String> addresses) {
        byte[] info = connectInfo(handle, addresses.toArray(String[]::new));
        if (info == null) {
            throw new JcclException("addresses=" + addresses + ": the native engine cannot listen: " + callError());
        }
        return info;
    }

    /** Returns the reason why a transport cannot reach a peer; empty if it can. */
    public Optional<String> obstacle(TransportKind transport, byte[] peerInfo) {
        int status = probe(handle, Numbers.of(transport), peerInfo);
        return status == Code.OK ? Optional.empty() : Optional.of(callError() + " (status=" + status + ")");
    }

    /**
     * Connects to a peer, in both directions and on all channels. Network connections are completed when they are first
     * used.
     *
     * @param peerInfo the peer's {@link #connectInfo}
     * @throws TransportException if the peer cannot be reached
     */
    public void connect(int peer, TransportKind transport, byte[] peerInfo) {
        int status = connect(handle, peer, Numbers.of(transport), peerInfo);
        if (status != Code.OK) {
            throw new TransportException("peer=" + peer + " transport=" + transport.label() + " status=" + status
                    + ": cannot connect: " + callError() + "; force another with JCCL_TRANSPORT");
        }
    }

    /**
     * Sets the network devices of connections. Connections without a row use all devices in rotation.
     *
     * @param rows of {@link Rows#path}, after each other. The first row of a connection counts. A row from this rank to
     *     this rank holds for all connections of the channel that have no row
     */
    public void setPaths(int[] rows) {
        require("network devices of the channels", setPaths(handle, rows));
    }

    /**
     * Checks that rings and trees have all their connections, and makes those of InfiniBand verbs and of network
     * plug-ins. All ranks call this once, at about the same time.
     *
     * @throws TransportException if a connection is missing or cannot be made
     */
    public void prepare() {
        require("prepare", prepare(handle));
    }

    @Override
    public void setRing(int channel, int[] order) {
        require("ring of channel=" + channel, setRing(handle, channel, order));
    }

    @Override
    public void setTree(int channel, int up, int[] down) {
        require("tree of channel=" + channel, setTree(handle, channel, up, down));
    }

    /**
     * Sets which ranks share a host, for operations by hosts.
     *
     * @param hostOf number of the host of each rank; hosts are numbered in the order of their first ranks
     */
    public void setHosts(int[] hostOf) {
        require("hosts", setHosts(handle, hostOf));
    }

    /** Closes the descriptor of this rank's shared memory, because all ranks have connected to each other. */
    public void withdrawMemory() {
        require("shared memory", withdrawMemory(handle));
    }

    /** Returns the native communicator, for natives of parts that add something to it before it is freed. */
    public long address() {
        return handle;
    }

    /** Returns the reason of the calling thread's last failure in a call other than an operation. */
    public static String callError() {
        return lastError(0);
    }

    private void require(String step, int status) {
        if (status != Code.OK) {
            throw new TransportException(step + " status=" + status + ": " + callError());
        }
    }

    /**
     * Gives connections their SIMPLE slots in memory of a GPU. If the adapters do not reach this memory, a warning is
     * logged and the connections keep slots in memory of the host. This engine releases the memory, also if the call
     * fails.
     *
     * @param rows of {@link Rows#slotUse}, after each other
     */
    public void useDeviceSlots(DeviceSlots memory, int[] rows) {
        keep(memory);
        if (useDeviceSlots(handle, memory.address(), memory.bytes(), memory.dmabuf(), rows) != Code.OK) {
            throw new JcclException("connections cannot have slots in memory of the GPU: " + callError());
        }
    }

    /**
     * Tells on which channels the kernels of a GPU use connections with a peer over a network. Must precede
     * {@link #connect}. Without this call, every channel has a connection with the peer.
     */
    public void setStagedChannels(int peer, DeviceEngine device) {
        if (setStagedChannels(handle, peer, device.stagedChannels(peer), device.exchangeOnlyChannels(peer))
                != Code.OK) {
            throw new JcclException("connections with a peer cannot be staged: " + callError());
        }
    }

    /** Keeps memory of a GPU, which this engine's adapters use, until the engine is freed. */
    public void keep(DeviceSlots memory) {
        slots.add(memory);
    }

    /**
     * Gives connections with a peer to kernels of a GPU. Must follow {@link #prepare}. Afterwards no operation may use
     * these connections.
     *
     * @return rows of {@link Rows#STAGED_LENGTH} addresses, one for each channel
     */
    long[] stage(int peer, int[] channels) {
        long[] ends = stage(handle, peer, channels);
        if (ends == null) {
            throw new JcclException("peer=" + peer + ": its connections cannot be staged: " + callError());
        }
        return ends;
    }

    /** Returns a reference to the memory of staged connections, which {@link DeviceEngine#connectStaged} takes over. */
    public long shareMemory() {
        return shareMemory(handle);
    }

    /**
     * Starts to move the data of staged connections that use a network.
     *
     * @param controls address of the abort word of the kernels, which a failure of the network sets to
     *     {@link Code#TRANSPORT}; outlives this engine
     * @return address of the counter of running operations; 0 if no network is used
     */
    long startStaging(long controls) {
        long activity = startStaging(handle, controls);
        if (activity < 0) {
            throw new TransportException("nothing can be moved between GPUs and the network: " + callError());
        }
        return activity;
    }

    /**
     * Runs one collective; returns when this rank's buffers are no longer used.
     *
     * <p>{@code count} is the elements that each rank sends in all_gather, the elements that each rank receives in
     * reduce_scatter, the elements of a pair in all_to_all, gather and scatter, otherwise the elements of the buffer.
     *
     * @param operation collective, type, reduction and format between hosts, packed by {@code Signatures}
     * @param choice packed by {@code io.jccl.tuning.Choice}, with 0 as the bytes of a chunk for the engine's default;
     *     the same on all ranks
     * @param send address of the send buffer; for in-place use, equal to {@code recv}; in all_gather and gather, this
     *     rank's part of {@code recv}; in reduce_scatter and scatter, {@code recv} is this rank's part of {@code send}
     * @param wireSeed decides stochastic rounding between hosts
     * @param timeoutNanos from the start of the operation; 0 for none
     * @return the choice that was used, packed like {@code choice}, or a code below {@link Code#OK}
     */
    public long run(
            int operation, long choice, long send, long recv, long count, int root, long wireSeed, long timeoutNanos) {
        return run(handle, operation, choice, send, recv, count, root, 0, 0, wireSeed, timeoutNanos);
    }

    /**
     * Runs one collective with a count for each rank.
     *
     * @param operation as {@link #run} takes it; a user-defined reduction exchanges elements like all_to_all, and Java
     *     reduces
     * @param counts in elements. all_gather and gather: the count of every rank, then the offset of each part in
     *     {@code recv}; reduce_scatter and scatter: the count of every rank, then the offset of each part in
     *     {@code send}; all_to_all: send counts, send offsets, receive counts, receive offsets
     * @return as {@link #run}
     */
    public long runV(
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long wireSeed,
            long timeoutNanos) {
        return runV(handle, operation, choice, send, recv, counts, root, 0, 0, wireSeed, timeoutNanos);
    }

    /**
     * Runs one part of a collective that all ranks cut alike. Each part is an operation of the sequence.
     *
     * @param whole elements of the whole, as {@code count} of {@link #run} counts them; all ranks must agree on it
     * @param begin first element of this part
     * @return as {@link #run}
     */
    public long runPart(
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long whole,
            long begin,
            long wireSeed,
            long timeoutNanos) {
        return run(handle, operation, choice, send, recv, count, root, whole, begin, wireSeed, timeoutNanos);
    }

    /**
     * Runs one part of a collective with a count for each rank.
     *
     * @param counts of this part, as {@link #runV} takes them
     * @param whole elements of all ranks together
     * @param begin first element of this part
     * @return as {@link #run}
     */
    public long runVPart(
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long whole,
            long begin,
            long wireSeed,
            long timeoutNanos) {
        return runV(handle, operation, choice, send, recv, counts, root, whole, begin, wireSeed, timeoutNanos);
    }

    /**
     * Runs sends and receives at the same time. Transfers with a peer match the peer's transfers in their order. They
     * have no sequence number, because not all ranks take part.
     *
     * @param tasks rows of {@link Rows#TASK_LENGTH}
     * @return as {@link #run}
     */
    public long runPointToPoint(long[] tasks, long timeoutNanos) {
        return runPointToPoint(handle, tasks, timeoutNanos);
    }

    /**
     * Runs a send, a receive, or one of each: {@link #runPointToPoint} without an array.
     *
     * @param to the receiving rank; {@link Rows#NO_PEER} sends nothing
     * @param from the sending rank; {@link Rows#NO_PEER} receives nothing
     * @return as {@link #run}
     */
    public long sendReceive(
            long send,
            long sendCount,
            DataType sendType,
            int to,
            long recv,
            long recvCount,
            DataType recvType,
            int from,
            long timeoutNanos) {
        return sendReceive(
                handle,
                send,
                sendCount,
                Numbers.of(sendType),
                to,
                recv,
                recvCount,
                Numbers.of(recvType),
                from,
                timeoutNanos);
    }

    /**
     * Lets the next operation pause where it would wait for another rank: its call then returns {@link Code#PAUSED}.
     *
     * @return false if operations of this engine cannot pause; then the next one waits
     */
    public boolean pauseNext() {
        return pauseNext(handle);
    }

    /**
     * Continues the paused operation. Any thread may do so.
     *
     * @param timeoutNanos the time after which the operation fails
     * @param pauses true if the operation may pause again
     * @return as {@link #run}; {@link Code#PAUSED} if the operation has paused again
     */
    public long resume(long timeoutNanos, boolean pauses) {
        return resume(handle, timeoutNanos, pauses);
    }

    /** Returns the bytes in use, a row of {@link Rows#MEMORY_LENGTH}; empty once this engine is destroyed. */
    public long[] memoryUsage() {
        return rows(() -> memoryUsage(handle));
    }

    /**
     * Returns the counters of operations that ended well since the engine was created: {@link Rows#COLLECTIVE_LENGTH}
     * numbers for each collective, then {@link Rows#TRANSPORT_LENGTH} for each transport. Empty once this engine is
     * destroyed.
     */
    public long[] counters() {
        return rows(() -> counters(handle));
    }

    /**
     * Notes the time for the engines of this process, which read this time where a coarse clock suffices. Called 20
     * times a second.
     */
    public static native void tick();

    /**
     * Keeps memory registered with adapters, so that operations need not register it. Any thread may call this.
     *
     * @return number for {@link #dropMemory}, or 0 if the network in use registers no memory
     */
    public long keepMemory(long address, long bytes) {
        return keepMemory(handle, address, bytes);
    }

    /** Undoes {@link #keepMemory}, by any thread, while no operation uses the memory. */
    public void dropMemory(long number) {
        dropMemory(handle, number);
    }

    @Override
    void abortNow(int code) {
        abort(handle, code);
    }

    @Override
    String error() {
        return lastError(handle);
    }

    @Override
    long[] waits() {
        return waiting(handle);
    }

    @Override
    long[] record(long sequence) {
        return history(handle, sequence);
    }

    @Override
    long[] transfersRecord(long number) {
        return transfers(handle, number);
    }

    @Override
    long transfersBegun() {
        return lastTransfers(handle);
    }

    @Override
    long entered() {
        return lastEntered(handle);
    }

    @Override
    long done() {
        return lastDone(handle);
    }

    /**
     * Frees the engine when no other rank sends through this rank's GPU any more. Until then a separate thread forwards
     * the data of such ranks. If they include ranks of other processes, the caller waits for these, because this
     * process may be about to exit. That wait is limited, because those ranks may wait for this rank in turn.
     */
    @Override
    void free() {
        int users = users(handle);
        if (users == USERS_NONE) {
            release();
            return;
        }
        Thread forwarding = ServiceThread.once("jccl-forwarding", this::forwardUntilUnused);
        if (Threads.tryStart(forwarding).isPresent()) {
            forwardUntilUnused(); // no thread could be started, so the caller waits instead
            return;
        }
        if (users != USERS_HERE) {
            LOG.info(
                    "ranks of other processes send through this rank's GPU (PXN): waiting until they close, for at most {} s",
                    FORWARDING_TIMEOUT.toSeconds());
            try {
                forwarding.join(FORWARDING_TIMEOUT.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void forwardUntilUnused() {
        while (users(handle) != USERS_NONE) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(FORWARDING_POLL_MILLIS));
        }
        release();
    }

    private void release() {
        destroy(handle);
        slots.forEach(DeviceSlots::release);
        logs.close();
    }

    // Natives that return an int return a code. Only an OutOfMemoryError of the JVM is thrown.

    private static native long create(long[] config, String[] texts);

    private static native byte[] connectInfo(long handle, String[] addresses);

    private static native int probe(long handle, int transport, byte[] peerInfo);

    private static native int connect(long handle, int peer, int transport, byte[] peerInfo);

    private static native int setRing(long handle, int channel, int[] order);

    private static native int setTree(long handle, int channel, int up, int[] down);

    private static native int setHosts(long handle, int[] hostOf);

    private static native int withdrawMemory(long handle);

    private static native int setPaths(long handle, int[] rows);

    private static native int prepare(long handle);

    private static native int useDeviceSlots(long handle, long address, long bytes, int dmabuf, int[] rows);

    private static native int setStagedChannels(long handle, int peer, int[] channels, int[] exchangeOnly);

    private static native int users(long handle);

    private static native long[] stage(long handle, int peer, int[] channels);

    private static native long shareMemory(long handle);

    private static native long startStaging(long handle, long controls);

    // The next natives have many parameters: an object or an array for them would cost a small operation a tenth of its
    // time.
    private static native long run(
            long handle,
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long whole,
            long begin,
            long wireSeed,
            long timeoutNanos);

    private static native long runV(
            long handle,
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long whole,
            long begin,
            long wireSeed,
            long timeoutNanos);

    private static native long runPointToPoint(long handle, long[] tasks, long timeoutNanos);

    private static native long sendReceive(
            long handle,
            long send,
            long sendCount,
            int sendType,
            int to,
            long recv,
            long recvCount,
            int recvType,
            int from,
            long timeoutNanos);

    private static native boolean pauseNext(long handle);

    private static native long resume(long handle, long timeoutNanos, boolean pauses);

    private static native void abort(long handle, int code);

    private static native void destroy(long handle);

    private static native String lastError(long handle);

    private static native long[] history(long handle, long sequence);

    private static native long[] transfers(long handle, long number);

    private static native long lastTransfers(long handle);

    private static native long[] counters(long handle);

    private static native long lastEntered(long handle);

    private static native long lastDone(long handle);

    private static native long[] waiting(long handle);

    private static native long[] memoryUsage(long handle);

    private static native long keepMemory(long handle, long address, long bytes);

    private static native void dropMemory(long handle, long number);
}
