package io.jccl.nativelib;

import io.jccl.DeviceException;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import java.lang.annotation.Native;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Engine of a communicator for memory of a GPU.
 *
 * <p><b>Order.</b> {@link #create}, rings, trees and chains of every channel, {@link #setStaged} and
 * {@link #setForwarded}, {@link #connectInfo}, {@link #connect} and {@link #connectStaged} for every peer,
 * {@link #prepare}, then operations, which are put on a stream and return at once.
 *
 * <p><b>Threads.</b> One thread at a time initialises the engine and issues operations. Any thread may ask for the
 * history, the waits and the memory, and may {@link #query} and {@link #abort}. {@link #destroy} ends operations in
 * flight; operations that are issued after it return {@link Code#ABORTED}.
 */
public final class DeviceEngine extends Engine {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceEngine.class);

    // Results of query().

    /** The operation is not over. */
    @Native
    public static final int PENDING = 0;
    /** The operation ended well. */
    @Native
    public static final int DONE = 1;

    /** Bit of an operation's number that is set if {@link #takeNotice} has a text. */
    @Native
    private static final long NOTICE = 1L << 62;

    private @Nullable LaunchReport report; // null if each query has to ask the native engine

    /** Streams that operations were issued on; 0 is the default stream of the device. */
    private final Set<Long> streams = new HashSet<>();

    private final long[] issued = new long[Rows.ISSUED_LENGTH]; // row of the operation issued last
    private long lastStream = -1;
    private long ownStream; // 0 until the stream is known

    private final DeviceRegistration registration = new DeviceRegistration(this);

    private DeviceEngine(long handle) {
        super(handle);
    }

    /**
     * Creates an engine without connections.
     *
     * @throws DeviceException if that fails; the message has the reason
     */
    public static DeviceEngine create(DeviceConfig config) {
        CudaLoader.load();
        long handle = create(config.numbers);
        if (handle == 0) {
            throw new DeviceException("device=" + config.numbers[DeviceConfig.DEVICE]
                    + ": the communicator's part on the GPU cannot be made: " + lastError(0));
        }
        return new DeviceEngine(handle);
    }

    /**
     * Blocks of a device.
     *
     * @param blocks count of blocks that can be resident at the same time, for all ranks that share the device
     * @param free count of blocks that no communicator of this process has taken
     */
    public record BlockBudget(int blocks, int free) {}

    /**
     * Returns how many blocks of {@code threads} threads each can run on a device.
     *
     * @throws DeviceException if the device cannot be queried
     */
    public static BlockBudget blockBudget(int device, int threads) {
        CudaLoader.load();
        DeviceKernels.announceAndLoad(device); // the budget follows from the kernels, so the driver loads them here
        long[] row = NativeDevice.blockBudget(device, threads);
        if (row == null) {
            throw NativeDevice.failed("device=" + device);
        }
        return new BlockBudget((int) row[NativeDevice.BUDGET_BLOCKS], (int) row[NativeDevice.BUDGET_FREE]);
    }

    /**
     * Properties of a device.
     *
     * @param uuid equal for the same device in every process
     * @param capability compute capability times ten
     * @param multiprocessors count of multiprocessors
     * @param memoryBytes size of all memory of the device
     * @param busId as the kernel spells it, such as {@code 0000:07:00.0}
     * @param servedByMps true if an MPS server runs the kernels of this process together with those of other processes
     */
    public record Description(
            String uuid, int capability, int multiprocessors, long memoryBytes, String busId, boolean servedByMps) {}

    /**
     * Returns the properties of a device.
     *
     * @throws DeviceException if there is no such device
     */
    public static Description describe(int device) {
        int devices = CudaLoader.devices();
        if (device >= devices) {
            throw new DeviceException("device=" + device + ": expected 0 to " + (devices - 1)
                    + ", the devices that this process can see (CUDA_VISIBLE_DEVICES)");
        }
        long[] row = NativeDevice.describe(device);
        if (row == null) {
            throw NativeDevice.failed("device=" + device);
        }
        return new Description(
                Long.toHexString(row[NativeDevice.UUID_HIGH]) + "-" + Long.toHexString(row[NativeDevice.UUID_LOW]),
                (int) row[NativeDevice.CAPABILITY],
                (int) row[NativeDevice.MULTIPROCESSORS],
                row[NativeDevice.MEMORY_BYTES],
                String.format(
                        "%04x:%02x:%02x.0",
                        row[NativeDevice.PCI_DOMAIN], row[NativeDevice.PCI_BUS], row[NativeDevice.PCI_DEVICE]),
                row[NativeDevice.SERVED_BY_MPS] != 0);
    }

    @Override
    public void setRing(int channel, int[] order) {
        require("ring of channel=" + channel, setRing(handle, channel, order));
    }

    @Override
    public void setTree(int channel, int up, int[] down) {
        require("tree of channel=" + channel, setTree(handle, channel, up, down));
    }

    /** Allocates the memory of the connections, and returns what the peers need to connect to this rank. */
    public byte[] connectInfo() {
        byte[] info = connectInfo(handle);
        if (info == null) {
            throw new DeviceException("the memory of connections cannot be had: " + lastError());
        }
        return info;
    }

    /**
     * Marks a peer whose memory this rank does not reach; {@link #connectStaged} connects the peer. Must precede
     * {@link #connectInfo}.
     */
    public void setStaged(int peer) {
        require("peer=" + peer, setStaged(handle, peer));
    }

    /**
     * Returns the descriptor of the memory that {@link #connectInfo} allocated, if it has one. The caller closes it.
     */
    public OptionalInt takeDescriptor() {
        return descriptor(takeDescriptor(handle));
    }

    private static OptionalInt descriptor(int descriptor) {
        return descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
    }

    /**
     * Describes how other processes get this rank's memory, and why no better way works. Must follow
     * {@link #connectInfo}.
     */
    public String handleExchange() {
        return handleExchange(handle);
    }

    /** Returns true if the last {@link #connect} could not use the descriptor; an older mechanism may still work. */
    public boolean refusedDescriptor() {
        return refusedDescriptor(handle);
    }

    /**
     * Begins again at {@link #connectInfo}, without a descriptor. This rank connects to all peers again, and they connect to
     * this rank again.
     */
    public void renounceDescriptors(String why) {
        renounceDescriptors(handle, why);
    }

    /**
     * Connects to a peer through the peer's memory, in both directions and on all channels.
     *
     * @param descriptor of the peer's memory, if this process received one; the call closes it
     * @return the reason why that memory cannot be reached, or empty
     */
    public Optional<String> connect(int peer, byte[] info, OptionalInt descriptor) {
        return failure(connect(handle, peer, info, descriptor.orElse(-1)));
    }

    /** Returns the channels on which kernels use connections with a peer, once rings and trees are set. */
    public int[] stagedChannels(int peer) {
        return stagedChannels(handle, peer);
    }

    /** Returns those of {@link #stagedChannels} that only sends and receives use. */
    int[] exchangeOnlyChannels(int peer) {
        return exchangeOnlyChannels(handle, peer);
    }

    /** Allocates memory of the GPU for the SIMPLE slots of connections over adapters; empty if there is too little. */
    public Optional<DeviceSlots> makeDeviceSlots(int connections) {
        return Optional.ofNullable(makeDeviceSlots(handle, connections)).map(DeviceSlots::new);
    }

    /**
     * Sets the count of connections that this rank forwards for ranks of its host. Must precede {@link #connectInfo}.
     */
    public void setForwarded(int connections) {
        setForwarded(handle, connections);
    }

    /** Returns the slots of the forwarded connections in memory of this rank's GPU; empty on failure. */
    public Optional<DeviceSlots> forwardedSlots() {
        return Optional.ofNullable(forwardedSlots(handle)).map(DeviceSlots::new);
    }

    /**
     * Returns the address of a peer's forwarded slots, as this rank's GPU reaches them; 0 if it does not reach them.
     */
    public long forwardedSlotsOf(int peer) {
        return forwardedSlotsOf(handle, peer);
    }

    /**
     * Connects to a peer through memory of the host.
     *
     * @param staging the host's engine, which is connected to the peer; nothing else may use this connection
     * @param transport of that engine to the peer
     * @return true if adapters reach slots in memory of the GPU on the path to the peer or from it
     */
    public boolean connectStaged(int peer, NativeEngine staging, TransportKind transport) {
        long[] rows = staging.stage(peer, stagedChannels(peer));
        require(
                "peer=" + peer + " staged",
                connectStaged(handle, peer, Numbers.of(transport), rows, staging.shareMemory()));
        return IntStream.range(0, rows.length / Rows.STAGED_LENGTH)
                .map(row -> row * Rows.STAGED_LENGTH)
                .anyMatch(at -> rows[at + Rows.STAGED_SEND_SLOTS] != 0 || rows[at + Rows.STAGED_RECV_SLOTS] != 0);
    }

    /**
     * Makes the engine ready for operations.
     *
     * @param inPlace true if all ranks are threads of this process that reach each other's memory
     * @param staging the host's engine of {@link #connectStaged}, if any peer has one
     */
    public void prepare(boolean inPlace, Optional<NativeEngine> staging) {
        long controls = controls(handle);
        long activity = staging.map(it -> it.startStaging(controls)).orElse(0L);
        require("prepare", prepare(handle, inPlace, activity));
        long address = report(handle);
        report = address == 0 ? null : new LaunchReport(address);
    }

    /**
     * Sends known data over every connection with one protocol. All ranks call this together.
     *
     * @return the reason of a failure, or empty
     */
    public Optional<String> selfTest(Protocol protocol, long timeoutNanos) {
        return failure(selfTest(handle, Numbers.of(protocol), timeoutNanos));
    }

    /**
     * Sends known data by operations in place. All ranks call this together.
     *
     * @return a {@link Code}: {@link Code#TRANSPORT} if the operations end but bring other data
     */
    public int testInPlace(long timeoutNanos) {
        return testInPlace(handle, timeoutNanos);
    }

    /** Uses no operations in place from now on. All ranks call this. */
    public void renounceInPlace() {
        renounceInPlace(handle);
    }

    /** Returns the part of this engine that knows registered buffers and symmetric memory. */
    public DeviceRegistration registration() {
        return registration;
    }

    /** Calls a native of a part; returns {@code destroyed} instead if the engine is destroyed. */
    public <T> T guarded(T destroyed, Supplier<T> call) {
        return answer(destroyed, call);
    }

    /** Returns the native communicator, for natives of parts that add something to it before it is freed. */
    public long address() {
        return handle;
    }

    /** Returns the reason why a native has returned this {@link Code}; empty if it succeeded. */
    public Optional<String> failure(int code) {
        return code == Code.OK ? Optional.empty() : Optional.of(lastError());
    }

    /**
     * Requires that a native has succeeded.
     *
     * @param what the subject of the message of a failure
     */
    public void require(String what, int code) {
        if (code != Code.OK) {
            throw new DeviceException(what + ": " + lastError());
        }
    }

    /**
     * Puts one collective on a stream; the arguments are those of {@link NativeEngine#run} with addresses of the
     * device.
     *
     * @param timeoutNanos limit of the kernel's time. A negative limit stands for the time-out of the communicator: for
     *     collectives the caller keeps it, and aborts; kernels keep it for everything else
     * @param stream a {@code cudaStream_t}
     * @return number of the operation for {@link #query}, or a code below {@link Code#OK}. {@link #issuedChoice} and
     *     {@link #issuedSequence} return more facts about the operation
     */
    public long run(
            int operation, long choice, long send, long recv, long count, int root, long timeoutNanos, long stream) {
        // Not by a LongSupplier, which would be garbage of every operation.
        if (!enter()) {
            return Code.ABORTED;
        }
        long outcome;
        try {
            outcome = run(handle, operation, choice, send, recv, count, root, timeoutNanos, stream, issued);
        } finally {
            leave();
        }
        return issuedOn(stream, outcome);
    }

    /** Puts one collective with a count for each rank on a stream; see {@link #run} and {@link NativeEngine#runV}. */
    public long runV(
            int operation, long choice, long send, long recv, long[] counts, int root, long timeoutNanos, long stream) {
        return issueOn(
                stream, () -> runV(handle, operation, choice, send, recv, counts, root, timeoutNanos, stream, issued));
    }

    /**
     * Puts sends and receives on a stream, which run together; see {@link #run} and
     * {@link NativeEngine#runPointToPoint}.
     */
    public long runPointToPoint(long choice, long[] tasks, long timeoutNanos, long stream) {
        return issueOn(stream, () -> runPointToPoint(handle, choice, tasks, timeoutNanos, stream, issued));
    }

    /**
     * Puts several operations on a stream as one group, in their order and in as few launches as possible.
     *
     * @param operations calls {@code run …} methods, which only keep their operation; returns the result of the last
     *     call. A code below {@link Code#OK} ends the group, and nothing is issued
     * @return as {@link #run}, of the last operation
     */
    public long runGroup(LongSupplier operations, long timeoutNanos, long stream) {
        return issueOn(stream, () -> {
            beginGroup(handle);
            boolean whole = false;
            try {
                long outcome = operations.getAsLong();
                whole = outcome >= Code.OK;
                return whole ? endGroup(handle, timeoutNanos, stream, issued) : outcome;
            } finally {
                if (!whole) {
                    dropGroup(handle);
                }
            }
        });
    }

    /**
     * Returns the choice, packed, with which the operation issued last is executed. Only the thread that issues may
     * call this.
     */
    public long issuedChoice() {
        return issued[Rows.ISSUED_CHOICE];
    }

    /**
     * Returns the number of the collective that was entered last when the last operation was issued. Only the thread
     * that issues may call this.
     */
    public long issuedSequence() {
        return issued[Rows.ISSUED_SEQUENCE];
    }

    /** Returns true if the operation issued last was recorded for a graph. It counts as ended, so do not query it. */
    public boolean isCaptured() {
        return issued[Rows.ISSUED_CAPTURED] != 0;
    }

    /**
     * Returns {@link #PENDING}, {@link #DONE}, or the code that an operation ended with. Allocates nothing, and mostly
     * only reads what the kernels report.
     */
    public int query(long number) {
        if (!enter()) {
            return Code.ABORTED;
        }
        try {
            LaunchReport kernels = report;
            int known = kernels == null ? LaunchReport.UNKNOWN : kernels.query(number);
            return known == LaunchReport.UNKNOWN ? query(handle, number) : known;
        } finally {
            leave();
        }
    }

    /** Returns true if a kernel has waited for another rank for some time. */
    public boolean isWaiting() {
        return waiting().length != 0;
    }

    /** Lets the native engine note in the history, with the time, that an operation has ended. */
    public void noteEnd(long number) {
        if (enter()) {
            try {
                query(handle, number);
            } finally {
                leave();
            }
        }
    }

    private long issueOn(long stream, LongSupplier call) {
        return issuedOn(stream, issue(call));
    }

    /** Warns of what an operation on a stream has brought to light; returns its number or code. */
    private long issuedOn(long stream, long issuedNumber) {
        long outcome = issuedNumber;
        if (outcome > 0 && (outcome & NOTICE) != 0) {
            outcome &= ~NOTICE;
            ask(0, this::warnOfNotice);
        }
        if (stream != lastStream) {
            lastStream = stream;
            if (streams.add(stream)) {
                ask(0, this::warnOfCrowding);
            }
        }
        return outcome;
    }

    private long warnOfCrowding() {
        String crowding = crowding(handle);
        if (crowding != null) {
            LOG.warn("{}", crowding);
        }
        return 0;
    }

    private long warnOfNotice() {
        LOG.warn("{}", takeNotice(handle));
        return 0;
    }

    private long issue(LongSupplier call) {
        return ask(Code.ABORTED, call);
    }

    /** Returns the nearest choice that this engine can execute, packed. */
    public long adjustChoice(int operation, long choice) {
        return ask(choice, () -> adjustChoice(handle, operation, choice));
    }

    /**
     * Returns the engine's own stream, for operations that the application issues without a stream. Only the thread
     * that issues may call this.
     */
    public long ownStream() {
        if (ownStream == 0) {
            ownStream = ownStream(handle);
        }
        return ownStream;
    }

    /** Returns the sequence number of the collective that failed first, 0 if none has. */
    public long failedSequence() {
        return ask(0, () -> failedSequence(handle));
    }

    /** Returns the bytes of memory of the device that this engine holds. */
    public long deviceBytes() {
        return ask(0, () -> deviceBytes(handle));
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

    @Override
    void free() {
        destroy(handle);
    }

    // Natives that return an int return a code, unless their name says what they return.

    private static native long create(long[] config);

    private static native int setRing(long handle, int channel, int[] order);

    private static native int setTree(long handle, int channel, int up, int[] down);

    private static native byte[] connectInfo(long handle);

    private static native int setStaged(long handle, int peer);

    private static native int takeDescriptor(long handle);

    private static native String handleExchange(long handle);

    private static native boolean refusedDescriptor(long handle);

    private static native void renounceDescriptors(long handle, String why);

    private static native int connect(long handle, int peer, byte[] info, int descriptor);

    private static native int[] stagedChannels(long handle, int peer);

    private static native int[] exchangeOnlyChannels(long handle, int peer);

    private static native long[] makeDeviceSlots(long handle, int connections);

    private static native void setForwarded(long handle, int connections);

    private static native long[] forwardedSlots(long handle);

    private static native long forwardedSlotsOf(long handle, int peer);

    private static native int connectStaged(long handle, int peer, int transport, long[] rows, long memory);

    private static native long controls(long handle);

    private static native int prepare(long handle, boolean inPlace, long activity);

    private static native int selfTest(long handle, int protocol, long timeoutNanos);

    private static native int testInPlace(long handle, long timeoutNanos);

    private static native void renounceInPlace(long handle);

    // The next natives have many parameters, so that an operation needs one call and no object.
    private static native long run(
            long handle,
            int operation,
            long choice,
            long send,
            long recv,
            long count,
            int root,
            long timeoutNanos,
            long stream,
            long[] issued);

    private static native long runV(
            long handle,
            int operation,
            long choice,
            long send,
            long recv,
            long[] counts,
            int root,
            long timeoutNanos,
            long stream,
            long[] issued);

    private static native long runPointToPoint(
            long handle, long choice, long[] tasks, long timeoutNanos, long stream, long[] issued);

    private static native void beginGroup(long handle);

    private static native long endGroup(long handle, long timeoutNanos, long stream, long[] issued);

    private static native void dropGroup(long handle);

    private static native int query(long handle, long number);

    private static native long report(long handle);

    private static native long adjustChoice(long handle, int operation, long choice);

    private static native long ownStream(long handle);

    private static native @Nullable String crowding(long handle);

    private static native String takeNotice(long handle);

    private static native void abort(long handle, int code);

    private static native void destroy(long handle);

    private static native String lastError(long handle);

    private static native long[] waiting(long handle);

    private static native long[] history(long handle, long sequence);

    private static native long[] transfers(long handle, long number);

    private static native long lastTransfers(long handle);

    private static native long lastEntered(long handle);

    private static native long lastDone(long handle);

    private static native long failedSequence(long handle);

    private static native long deviceBytes(long handle);
}
