package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator's runtime on a GPU. One thread at a time initialises it and issues operations. {@link #destroy} ends
 * what is in flight; operations after it return {@link NativeCommunicator#ABORTED}.
 */
public final class DeviceEngine extends Engine {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceEngine.class);

    /** Those that operations were issued on; 0 is the device's default stream. */
    private final Set<Long> streams = new HashSet<>();

    private long lastStream = -1;

    private DeviceEngine(long handle) {
        super(handle);
    }

    /**
     * Creates the runtime of a communicator.
     *
     * @param config the values at the indexes that {@link NativeDeviceCommunicator} names
     * @throws DeviceException if it cannot be made; says why
     */
    public static DeviceEngine create(long[] config) {
        CudaLoader.load();
        long handle = NativeDeviceCommunicator.create(config);
        if (handle == 0) {
            throw new DeviceException("device=" + config[NativeDeviceCommunicator.DEVICE]
                    + ": the communicator's part on the GPU cannot be made: " + NativeDeviceCommunicator.lastError(0));
        }
        return new DeviceEngine(handle);
    }

    /**
     * Blocks of a device.
     *
     * @param blocks how many can be on it at the same time, for all ranks that share it
     * @param free how many of them no communicator of this process has
     */
    public record BlockBudget(int blocks, int free) {}

    /**
     * How many blocks of so many threads a device has.
     *
     * @throws DeviceException if the device cannot be queried
     */
    public static BlockBudget blockBudget(int device, int threads) {
        CudaLoader.load();
        long[] row = NativeDevice.blockBudget(device, threads);
        if (row == null) {
            throw NativeDevice.failed("device=" + device);
        }
        return new BlockBudget((int) row[0], (int) row[1]);
    }

    /**
     * What a device is.
     *
     * @param uuid the same for the same device in every process
     * @param capability compute capability times ten
     * @param multiprocessors how many it has
     * @param memoryBytes all of its memory
     * @param busId as the kernel spells it, such as {@code 0000:07:00.0}
     * @param servedByMps whether an MPS server runs this process's kernels together with those of others
     */
    public record Description(
            String uuid, int capability, int multiprocessors, long memoryBytes, String busId, boolean servedByMps) {}

    /**
     * Queries what a device is.
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
        if (row == null || row.length != NativeDevice.DESCRIPTION_LENGTH) {
            throw NativeDevice.failed("device=" + device);
        }
        return new Description(
                Long.toHexString(row[0]) + "-" + Long.toHexString(row[1]),
                (int) row[2],
                (int) row[3],
                row[4],
                String.format("%04x:%02x:%02x.0", row[5], row[6], row[7]),
                row[8] != 0);
    }

    @Override
    public void setRing(int channel, int[] order) {
        require("ring of channel=" + channel, NativeDeviceCommunicator.setRing(handle, channel, order));
    }

    @Override
    public void setTree(int channel, int up, int[] down) {
        require("tree of channel=" + channel, NativeDeviceCommunicator.setTree(handle, channel, up, down));
    }

    /**
     * This rank's place in the chain of its host to a network that may reduce, on a channel; before {@link #connectInfo}. -1:
     * nobody.
     *
     * @param up the next rank towards the leader
     * @param down the next one away from it
     * @param after of a leader, the leader of the next host
     * @param before and of the one before
     * @param ranks how many there are from this one on, away from the leader
     * @param place of this one among them by their numbers
     */
    public void setChain(int channel, int up, int down, int after, int before, int ranks, int place) {
        require(
                "chain of channel=" + channel,
                NativeDeviceCommunicator.setChain(handle, channel, up, down, after, before, ranks, place));
    }

    /**
     * This rank's place in the tree of its host to a network that may reduce, on a channel whose chain is set; before
     * {@link #connectInfo}. The leader is its root.
     *
     * @param up the rank above it, -1 for the leader
     * @param down the ranks below it
     */
    public void setHostTree(int channel, int up, int[] down) {
        require(
                "tree of the host, channel=" + channel,
                NativeDeviceCommunicator.setHostTree(handle, channel, up, down));
    }

    /**
     * A network reduces on the first channels; before {@link #prepare}.
     *
     * @param staging the host's engine that has connected its groups
     * @param groups how many
     * @param offers of the plug-ins of all ranks
     * @param ranksOfHost how many ranks each host has, with numbers that follow each other, or 0
     * @return why it failed, or nothing
     */
    public Optional<String> connectCollNet(NativeEngine staging, int groups, List<byte[]> offers, int ranksOfHost) {
        Optional<long[]> rows = staging.stageCollNet(groups, offers, ranksOfHost);
        return rows.isEmpty()
                ? Optional.of(NativeEngine.callError())
                : failure(NativeDeviceCommunicator.connectCollNet(handle, rows.get(), staging.shareMemory()));
    }

    /** It does not, after all. */
    public void dropCollNet() {
        NativeDeviceCommunicator.dropCollNet(handle);
    }

    /** What the peers need to connect to this rank. */
    public byte[] connectInfo() {
        byte[] info = NativeDeviceCommunicator.connectInfo(handle);
        if (info == null) {
            throw new DeviceException("the memory of connections cannot be had: " + lastError());
        }
        return info;
    }

    /** A peer is on another host, and is connected by {@link #connectStaged}; before {@link #connectInfo}. */
    public void setStaged(int peer) {
        require("peer=" + peer, NativeDeviceCommunicator.setStaged(handle, peer));
    }

    /** The descriptor of this rank's memory, for other processes; after {@link #connectInfo}. The caller closes it. */
    public OptionalInt takeDescriptor() {
        int descriptor = NativeDeviceCommunicator.takeDescriptor(handle);
        return descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
    }

    /** How other processes get this rank's memory, and why not by a better path; after {@link #connectInfo}. */
    public String handleExchange() {
        return NativeDeviceCommunicator.handleExchange(handle);
    }

    /** Whether {@link #connect} was refused a descriptor, where an older mechanism may still work. */
    public boolean refusedDescriptor() {
        return NativeDeviceCommunicator.refusedDescriptor(handle);
    }

    /** Begins again at {@link #connectInfo}, without descriptors. */
    public void renounceDescriptors(String why) {
        NativeDeviceCommunicator.renounceDescriptors(handle, why);
    }

    /**
     * Connects to a peer by its own memory, in both directions and on all channels.
     *
     * @param descriptor of the peer's memory, if it has one and it could be had; is closed
     * @return why that cannot be reached, or nothing
     */
    public Optional<String> connect(int peer, byte[] info, OptionalInt descriptor) {
        return failure(NativeDeviceCommunicator.connect(handle, peer, info, descriptor.orElse(-1)));
    }

    /** The channels on which kernels use connections with a peer, once the rings and trees are set. */
    public int[] stagedChannels(int peer) {
        return NativeDeviceCommunicator.stagedChannels(handle, peer);
    }

    /** Makes memory of the GPU for the slots of so many connections over adapters; nothing where there is not enough. */
    public Optional<DeviceSlots> makeDeviceSlots(int connections) {
        return Optional.ofNullable(NativeDeviceCommunicator.makeDeviceSlots(handle, connections))
                .map(DeviceSlots::new);
    }

    /** How many connections this rank forwards for others of its host; before {@link #connectInfo}. */
    public void setForwarded(int connections) {
        NativeDeviceCommunicator.setForwarded(handle, connections);
    }

    /** Memory of this rank's GPU for the slots of these connections; nothing where it cannot be had. */
    public Optional<DeviceSlots> forwardedSlots() {
        return Optional.ofNullable(NativeDeviceCommunicator.forwardedSlots(handle))
                .map(DeviceSlots::new);
    }

    /** The address of the same memory of a peer's, as this rank's GPU reaches it; 0 where it does not. */
    public long forwardedSlotsOf(int peer) {
        return NativeDeviceCommunicator.forwardedSlotsOf(handle, peer);
    }

    /**
     * Connects to a peer by memory of the host.
     *
     * @param staging the host's engine that is connected to the peer, and that nothing else uses
     * @param network whether a network is between them
     * @return whether adapters reach slots in memory of the GPU on the path to the peer or from it
     */
    public boolean connectStaged(int peer, NativeEngine staging, boolean network) {
        long[] rows = staging.stage(peer, stagedChannels(peer));
        require(
                "peer=" + peer + " staged",
                NativeDeviceCommunicator.connectStaged(handle, peer, network, rows, staging.shareMemory()));
        return IntStream.range(0, rows.length)
                .anyMatch(i -> i % (NativeCommunicator.STAGED_ENDS_LENGTH / 2) == 2 && rows[i] != 0);
    }

    /**
     * Makes it ready for operations.
     *
     * @param inPlace whether all ranks are threads of this process that reach each other's memory
     * @param staging the host's engine behind {@link #connectStaged}, if any peer has one
     */
    public void prepare(boolean inPlace, Optional<NativeEngine> staging) {
        long controls = NativeDeviceCommunicator.controls(handle);
        long activity = staging.map(it -> it.startStaging(controls)).orElse(0L);
        require("prepare", NativeDeviceCommunicator.prepare(handle, inPlace, activity));
    }

    /**
     * Sends known data over every connection with one protocol; all ranks call this together.
     *
     * @return why it failed, or nothing
     */
    public Optional<String> selfTest(int protocol, long timeoutNanos) {
        return failure(NativeDeviceCommunicator.selfTest(handle, protocol, timeoutNanos));
    }

    /** Makes a multicast object for NVLS: what the others need to join, or nothing, and {@link #lastError} says why. */
    public Optional<byte[]> createMulticast() {
        return Optional.ofNullable(NativeDeviceCommunicator.createMulticast(handle));
    }

    /** The descriptor of the object for other processes; the caller closes it. */
    public OptionalInt takeMulticastDescriptor() {
        int descriptor = NativeDeviceCommunicator.takeMulticastDescriptor(handle);
        return descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
    }

    /**
     * Joins the multicast object of a rank.
     *
     * @param descriptor what this process got for it, if another made it; is closed
     * @return why it failed, or nothing
     */
    public Optional<String> joinMulticast(byte[] info, OptionalInt descriptor) {
        return failure(NativeDeviceCommunicator.joinMulticast(handle, info, descriptor.orElse(-1)));
    }

    /** Binds memory once all ranks have joined; why it failed, or nothing. */
    public Optional<String> bindMulticast() {
        return failure(NativeDeviceCommunicator.bindMulticast(handle));
    }

    /** Sends known data through the switch once all ranks have bound memory, together; why it failed, or nothing. */
    public Optional<String> testMulticast(long timeoutNanos) {
        return failure(NativeDeviceCommunicator.testMulticast(handle, timeoutNanos));
    }

    /** Gives the multicast object back. */
    public void dropMulticast() {
        NativeDeviceCommunicator.dropMulticast(handle);
    }

    /**
     * Begins to register a buffer; see {@link NativeDeviceCommunicator#describeBuffer}.
     *
     * @return what the others need to open it, or nothing, and {@link #lastError} says why
     */
    public Optional<byte[]> describeBuffer(long address, long bytes) {
        return Optional.ofNullable(answer(null, () -> NativeDeviceCommunicator.describeBuffer(handle, address, bytes)));
    }

    /** Descriptors for other processes, -1 where there is none: of the buffer, and of this rank's access page. */
    public int[] takeBufferDescriptors() {
        return answer(new int[] {-1, -1}, () -> NativeDeviceCommunicator.takeBufferDescriptors(handle));
    }

    /** Opens a peer's: its address in this process, or a code; the descriptors are closed. */
    public long openBuffer(int peer, byte[] info, int buffer, int page, long timeoutNanos) {
        return issue(() -> NativeDeviceCommunicator.openBuffer(handle, peer, info, buffer, page, timeoutNanos));
    }

    /** Uses it from here on: its number, or a code. */
    public long useBuffer(long[] there) {
        return issue(() -> NativeDeviceCommunicator.useBuffer(handle, there));
    }

    /** Forgets what was described and opened. */
    public void dropBuffer(long timeoutNanos) {
        issue(() -> NativeDeviceCommunicator.dropBuffer(handle, timeoutNanos));
    }

    /** Closes what was opened for a buffer; why it failed, or nothing. */
    public Optional<String> closeBuffer(long number, long timeoutNanos) {
        return failure((int)
                ask(NativeCommunicator.OK, () -> NativeDeviceCommunicator.closeBuffer(handle, number, timeoutNanos)));
    }

    /** Whether NVLS executes an operation of this signature, where there is a multicast object. */
    public boolean nvlsExecutes(int operation) {
        return NativeDeviceCommunicator.nvlsExecutes(operation);
    }

    private Optional<String> failure(int code) {
        return code == NativeCommunicator.OK ? Optional.empty() : Optional.of(lastError());
    }

    private void require(String what, int code) {
        if (code != NativeCommunicator.OK) {
            throw new DeviceException(what + ": " + lastError());
        }
    }

    /** Puts one collective on a stream; see {@link NativeDeviceCommunicator#run}. */
    public long run(
            int operation, long choice, long send, long recv, long count, int root, long timeoutNanos, long stream) {
        return issueOn(
                stream,
                () -> NativeDeviceCommunicator.run(
                        handle, operation, choice, send, recv, count, root, timeoutNanos, stream));
    }

    /** Puts one collective with a count per rank on a stream. */
    public long runV(
            int operation, long choice, long send, long recv, long[] counts, int root, long timeoutNanos, long stream) {
        return issueOn(
                stream,
                () -> NativeDeviceCommunicator.runV(
                        handle, operation, choice, send, recv, counts, root, timeoutNanos, stream));
    }

    /** Puts point-to-point transfers on a stream, which run together. */
    public long runPointToPoint(long[] tasks, long timeoutNanos, long stream) {
        return issueOn(stream, () -> NativeDeviceCommunicator.runPointToPoint(handle, tasks, timeoutNanos, stream));
    }

    /**
     * Puts several operations on a stream as one group; see {@link NativeDeviceCommunicator#endGroup}.
     *
     * @param operations calls {@code run …} and returns the number or code of the last call; a code below
     *     {@link NativeCommunicator#OK} ends the group, and nothing is issued
     */
    public long runGroup(LongSupplier operations, long timeoutNanos, long stream) {
        return issueOn(stream, () -> {
            NativeDeviceCommunicator.beginGroup(handle);
            boolean whole = false;
            try {
                long outcome = operations.getAsLong();
                whole = outcome >= NativeCommunicator.OK;
                return whole ? NativeDeviceCommunicator.endGroup(handle, timeoutNanos, stream) : outcome;
            } finally {
                if (!whole) {
                    NativeDeviceCommunicator.dropGroup(handle);
                }
            }
        });
    }

    /** What became of an operation: see {@link NativeDeviceCommunicator#query}. */
    public int query(long number) {
        return (int) issue(() -> NativeDeviceCommunicator.query(handle, number));
    }

    private long issueOn(long stream, LongSupplier call) {
        long outcome = issue(call);
        if (outcome > 0 && (outcome & NativeDeviceCommunicator.NOTICE) != 0) {
            outcome &= ~NativeDeviceCommunicator.NOTICE;
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
        String crowding = NativeDeviceCommunicator.crowding(handle);
        if (crowding != null) {
            LOG.warn("{}", crowding);
        }
        return 0;
    }

    private long warnOfNotice() {
        LOG.warn("{}", NativeDeviceCommunicator.takeNotice(handle));
        return 0;
    }

    private long issue(LongSupplier call) {
        return ask(NativeCommunicator.ABORTED, call);
    }

    /** The nearest choice that fits the runtime; see {@link NativeCommunicator#run}. */
    public long adjustChoice(int operation, long choice) {
        return ask(choice, () -> NativeDeviceCommunicator.adjustChoice(handle, operation, choice));
    }

    /** The stream of operations whose caller names none. */
    public long ownStream() {
        return NativeDeviceCommunicator.ownStream(handle);
    }

    /** The sequence number of the collective that failed first, 0 if none has. */
    public long failedSequence() {
        return ask(0, () -> NativeDeviceCommunicator.failedSequence(handle));
    }

    /** The memory that it holds on the device. */
    public long deviceBytes() {
        return ask(0, () -> NativeDeviceCommunicator.deviceBytes(handle));
    }

    @Override
    void abortNow(int code) {
        NativeDeviceCommunicator.abort(handle, code);
    }

    @Override
    String error() {
        return NativeDeviceCommunicator.lastError(handle);
    }

    @Override
    long[] waits() {
        return NativeDeviceCommunicator.waiting(handle);
    }

    @Override
    long[] record(long sequence) {
        return NativeDeviceCommunicator.history(handle, sequence);
    }

    @Override
    long[] transfersRecord(long number) {
        return NativeDeviceCommunicator.transfers(handle, number);
    }

    @Override
    long transfersBegun() {
        return NativeDeviceCommunicator.lastTransfers(handle);
    }

    @Override
    long entered() {
        return NativeDeviceCommunicator.lastEntered(handle);
    }

    @Override
    long done() {
        return NativeDeviceCommunicator.lastDone(handle);
    }

    @Override
    void free() {
        NativeDeviceCommunicator.destroy(handle);
    }
}
