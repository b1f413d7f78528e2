package io.jccl.nativelib;

import io.jccl.DataType;
import io.jccl.JcclException;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator's engine for memory of the host.
 *
 * <p>One thread at a time calls operations ({@code run…}, {@code connect}, {@code prepare}). Its owner ensures that
 * none is inside when {@link #destroy()} is called; they take no lock.
 */
public final class NativeEngine extends Engine {

    private static final Logger LOG = LoggerFactory.getLogger(NativeEngine.class);

    /** How long ranks of other processes may still send through this one's GPU. They usually end at the same time. */
    private static final Duration FORWARDING_TIMEOUT = Duration.ofSeconds(10);

    private static final long FORWARDING_POLL_MILLIS = 5;

    private final List<DeviceSlots> slots = new ArrayList<>();
    private final LogThread.Use logs;

    private NativeEngine(long handle, LogThread.Use logs) {
        super(handle);
        this.logs = logs;
    }

    /**
     * Creates the native communicator.
     *
     * @param config the values at the indexes that {@link NativeCommunicator} names
     * @param texts likewise
     * @throws JcclException if it cannot be made; says why
     */
    public static NativeEngine create(long[] config, String[] texts) {
        NativeLoader.load();
        LogThread.Use logs = LogThread.use();
        long handle = NativeCommunicator.create(config, texts);
        if (handle == 0) {
            String reason = callError();
            logs.close();
            throw new JcclException("the native engine cannot be made: " + reason);
        }
        return new NativeEngine(handle, logs);
    }

    /**
     * What the peers need to connect to this rank; starts listening on the network.
     *
     * @param addresses numeric addresses of this host; empty: no network
     * @throws JcclException if it cannot listen
     */
    public byte[] connectInfo(List<String> addresses) {
        byte[] info = NativeCommunicator.connectInfo(handle, addresses.toArray(String[]::new));
        if (info == null) {
            throw new JcclException("addresses=" + addresses + ": the native engine cannot listen: " + callError());
        }
        return info;
    }

    /** Why a transport cannot reach a peer; empty if it can. */
    public Optional<String> obstacle(int peer, TransportKind transport, byte[] peerInfo) {
        int status = NativeCommunicator.probe(handle, peer, transport.ordinal(), peerInfo);
        return status == NativeCommunicator.OK
                ? Optional.empty()
                : Optional.of(callError() + " (status=" + status + ")");
    }

    /**
     * Connects to a peer; see {@link NativeCommunicator#connect}.
     *
     * @throws TransportException if that cannot be done
     */
    public void connect(int peer, TransportKind transport, byte[] peerInfo) {
        int status = NativeCommunicator.connect(handle, peer, transport.ordinal(), peerInfo);
        if (status != NativeCommunicator.OK) {
            throw new TransportException("peer=" + peer + " transport=" + transport.label() + " status=" + status
                    + ": cannot connect: " + callError() + "; force another with JCCL_TRANSPORT");
        }
    }

    /** Says by which network devices connections go; see {@link NativeCommunicator#setPaths}. */
    public void setPaths(int[] rows) {
        require("network devices of the channels", NativeCommunicator.setPaths(handle, rows));
    }

    /**
     * Makes it ready for operations; see {@link NativeCommunicator#prepare}.
     *
     * @throws TransportException if a connection is missing or cannot be made
     */
    public void prepare() {
        require("prepare", NativeCommunicator.prepare(handle));
    }

    @Override
    public void setRing(int channel, int[] order) {
        require("ring of channel=" + channel, NativeCommunicator.setRing(handle, channel, order));
    }

    @Override
    public void setTree(int channel, int up, int[] down) {
        require("tree of channel=" + channel, NativeCommunicator.setTree(handle, channel, up, down));
    }

    /** Says which ranks share a host; see {@link NativeCommunicator#setHosts}. */
    public void setHosts(int[] hostOf) {
        require("hosts", NativeCommunicator.setHosts(handle, hostOf));
    }

    /**
     * What all ranks' networks that reduce have in common.
     *
     * @param groups how many channels can use them at once
     * @param gathers whether they gather and scatter, too
     * @param gigabytes what a host sends in a second, 0 where not known
     * @param latencyMicros of an operation, 0 where not known
     */
    public record CollNetCommon(int groups, boolean gathers, double gigabytes, double latencyMicros) {}

    /** Returns this rank's offer of a network that reduces; empty where it has none, and {@link #callError} says why. */
    public Optional<byte[]> offerCollNet(String plugin) {
        return Optional.ofNullable(NativeCollNet.offer(handle, plugin));
    }

    /** Returns the part that the offers of all ranks share; empty where they differ too much, and {@link #callError} says how. */
    public Optional<CollNetCommon> commonCollNet(List<byte[]> offers) {
        long[] values = NativeCollNet.common(handle, offers.toArray(byte[][]::new));
        return values == null
                ? Optional.empty()
                : Optional.of(new CollNetCommon((int) values[0], values[1] != 0, values[2] / 8e3, values[3] / 1e3));
    }

    /** The handle by which others connect to this rank in a group; empty on failure. */
    public Optional<byte[]> listenCollNet(int group) {
        return Optional.ofNullable(NativeCollNet.listen(handle, group));
    }

    /** Makes a group together with its other members; whether that succeeded. */
    public boolean connectCollNet(int group, List<byte[]> handles, int member, long timeoutNanos) {
        return NativeCollNet.connect(handle, group, handles.toArray(byte[][]::new), member, timeoutNanos)
                == NativeCommunicator.OK;
    }

    /** The network reduces from now on; whether that succeeded. See {@link NativeCollNet#use}. */
    public boolean useCollNet(int[] leaders, int groups, List<byte[]> offers) {
        return NativeCollNet.use(handle, leaders, groups, offers.toArray(byte[][]::new)) == NativeCommunicator.OK;
    }

    /** See {@link NativeCollNet#stage}; empty on failure. */
    Optional<long[]> stageCollNet(int groups, List<byte[]> offers, int ranksOfHost) {
        return Optional.ofNullable(NativeCollNet.stage(handle, groups, offers.toArray(byte[][]::new), ranksOfHost));
    }

    /** It does not, after all. */
    public void dropCollNet() {
        NativeCollNet.drop(handle);
    }

    /** Why the calling thread's last call failed that was no operation. */
    public static String callError() {
        return NativeCommunicator.lastError(0);
    }

    private void require(String step, int status) {
        if (status != NativeCommunicator.OK) {
            throw new TransportException(step + " status=" + status + ": " + callError());
        }
    }

    /**
     * Has slots of connections in memory of a GPU; before they are connected. The memory is released with this engine, however
     * this ends.
     *
     * @param rows which connections; see {@link NativeCommunicator#useDeviceSlots}
     */
    public void useDeviceSlots(DeviceSlots memory, int[] rows) {
        slots.add(memory);
        if (NativeCommunicator.useDeviceSlots(handle, memory.address, memory.bytes, memory.dmabuf, rows)
                != NativeCommunicator.OK) {
            throw new JcclException("connections cannot have slots in memory of the GPU: " + callError());
        }
    }

    /**
     * Forwards for other ranks; before {@link #connectInfo}. The memory is released with this engine, however this ends.
     *
     * @param rows which connections; see {@link NativeCommunicator#forwardFor}
     */
    public void forwardFor(DeviceSlots memory, int[] rows) {
        slots.add(memory);
        if (NativeCommunicator.forwardFor(handle, memory.address, memory.bytes, memory.dmabuf, rows)
                != NativeCommunicator.OK) {
            throw new JcclException("nothing can be forwarded for other ranks: " + callError());
        }
    }

    /** Sends through another rank's GPU, where that is possible; see {@link NativeCommunicator#sendThrough}. */
    public void sendThrough(int forwarder, byte[] info, int connections, long address, int[] rows) {
        if (NativeCommunicator.sendThrough(handle, forwarder, info, connections, address, rows)
                != NativeCommunicator.OK) {
            throw new JcclException("forwarder=" + forwarder + ": what it is asked for makes no sense: " + callError());
        }
    }

    /** Gives connections with a peer to kernels of a GPU; see {@link NativeCommunicator#stage}. */
    long[] stage(int peer, int[] channels) {
        long[] ends = NativeCommunicator.stage(handle, peer, channels);
        if (ends == null) {
            throw new JcclException("peer=" + peer + ": its connections cannot be staged: " + callError());
        }
        return ends;
    }

    /** The memory of what was staged; see {@link NativeCommunicator#shareMemory}. */
    long shareMemory() {
        return NativeCommunicator.shareMemory(handle);
    }

    /** Moves what was staged; see {@link NativeCommunicator#startStaging}. */
    long startStaging(long controls) {
        long activity = NativeCommunicator.startStaging(handle, controls);
        if (activity < 0) {
            throw new TransportException("nothing can be moved between GPUs and the network: " + callError());
        }
        return activity;
    }

    /** Runs one collective; see {@link NativeCommunicator#run}. */
    public long run(int operation, long choice, long send, long recv, long count, int root, long timeoutNanos) {
        return NativeCommunicator.run(handle, operation, choice, send, recv, count, root, timeoutNanos);
    }

    /** Runs one collective with a count per rank; see {@link NativeCommunicator#runV}. */
    public long runV(int operation, long choice, long send, long recv, long[] counts, int root, long timeoutNanos) {
        return NativeCommunicator.runV(handle, operation, choice, send, recv, counts, root, timeoutNanos);
    }

    /** Runs one part of a collective; see {@link NativeCommunicator#runPart}. */
    public long runPart(
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long whole,
            long begin,
            long timeoutNanos) {
        return NativeCommunicator.runPart(
                handle, operation, choice, send, recv, count, root, whole, begin, timeoutNanos);
    }

    /** Runs one part of a collective with a count per rank; see {@link NativeCommunicator#runVPart}. */
    public long runVPart(
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long whole,
            long begin,
            long timeoutNanos) {
        return NativeCommunicator.runVPart(
                handle, operation, choice, send, recv, counts, root, whole, begin, timeoutNanos);
    }

    /** Runs point-to-point transfers together; see {@link NativeCommunicator#runPointToPoint}. */
    public long runPointToPoint(long[] tasks, long timeoutNanos) {
        return NativeCommunicator.runPointToPoint(handle, tasks, timeoutNanos);
    }

    /** Runs a send, a receive, or one of each; see {@link NativeCommunicator#sendReceive}. */
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
        return NativeCommunicator.sendReceive(
                handle,
                send,
                sendCount,
                sendType.ordinal(),
                to,
                recv,
                recvCount,
                recvType.ordinal(),
                from,
                timeoutNanos);
    }

    /** The bytes in use, in the order that {@link NativeCommunicator#memoryUsage} documents. */
    public long[] memoryUsage() {
        return rows(() -> NativeCommunicator.memoryUsage(handle));
    }

    /** What was counted; empty once this is destroyed. See {@link NativeCommunicator#counters}. */
    public long[] counters() {
        return rows(() -> NativeCommunicator.counters(handle));
    }

    /** To be called some 20 times a second; see {@link NativeCommunicator#tick}. */
    public static void tick() {
        NativeCommunicator.tick();
    }

    /** Keeps memory registered with adapters; see {@link NativeCommunicator#keepMemory}. */
    public long keepMemory(long address, long bytes) {
        return NativeCommunicator.keepMemory(handle, address, bytes);
    }

    /** Ends what {@link #keepMemory} began. */
    public void dropMemory(long number) {
        NativeCommunicator.dropMemory(handle, number);
    }

    @Override
    void abortNow(int code) {
        NativeCommunicator.abort(handle, code);
    }

    @Override
    String error() {
        return NativeCommunicator.lastError(handle);
    }

    @Override
    long[] waits() {
        return NativeCommunicator.waiting(handle);
    }

    @Override
    long[] record(long sequence) {
        return NativeCommunicator.history(handle, sequence);
    }

    @Override
    long[] transfersRecord(long number) {
        return NativeCommunicator.transfers(handle, number);
    }

    @Override
    long transfersBegun() {
        return NativeCommunicator.lastTransfers(handle);
    }

    @Override
    long entered() {
        return NativeCommunicator.lastEntered(handle);
    }

    @Override
    long done() {
        return NativeCommunicator.lastDone(handle);
    }

    /**
     * Goes on in the background while other ranks send through this one's GPU. Those of other processes are waited for, as
     * this one may be about to exit; but not for long, as they may wait for this rank in turn.
     */
    @Override
    void free() {
        int senders = NativeCommunicator.senders(handle);
        if (senders == NativeCommunicator.SENDERS_NONE) {
            release();
            return;
        }
        Thread forwarding = ServiceThread.once("jccl-forwarding", this::forwardUntilTheyEnd);
        if (Threads.tryStart(forwarding).isPresent()) {
            forwardUntilTheyEnd(); // the caller waits instead
            return;
        }
        if (senders != NativeCommunicator.SENDERS_HERE) {
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

    private void forwardUntilTheyEnd() {
        while (NativeCommunicator.senders(handle) != NativeCommunicator.SENDERS_NONE) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(FORWARDING_POLL_MILLIS));
        }
        release();
    }

    private void release() {
        NativeCommunicator.destroy(handle);
        slots.forEach(DeviceSlots::release);
        logs.close();
    }
}
