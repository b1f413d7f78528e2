package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.search.PeerRates;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.PathType;
import io.jccl.tuning.GraphCosts.Medium;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Predicts operations on GPUs: by {@link GraphCostModel} through channels, and in addition the direct algorithm that
 * reads and writes buffers in place. No operation is predicted to be faster than links, blocks and memory allow:
 *
 * <ul>
 *   <li>the links on the paths of all its transfers, some of which several GPUs share ({@link #linkMicros});
 *   <li>the blocks of its channels, each of which reads and writes memory at a limited rate;
 *   <li>the memory of each GPU, which all ranks on the GPU share.
 * </ul>
 *
 * <p>{@link KernelCosts} has the bytes that each kind of kernel moves.
 */
public final class DeviceModel implements TimeModel {

    /** Bandwidth of one channel's thread block in a ring whose links are unknown, in GB/s. */
    private static final double CHANNEL_GBPS = 20;
    /**
     * Bandwidth of one GPU's link to its host in each direction, in GB/s: PCI Express 3.0 x16 less its overhead. Newer
     * links carry more, but data through host memory is also limited by that memory and by other GPUs' links.
     */
    public static final double HOST_LINK_GBPS = 12;
    /** Largest all-reduce in place that is one-shot, in bytes, however fast the links between the GPUs are. */
    public static final long MAX_ONE_SHOT_BYTES = DeviceConfig.MAX_ONE_SHOT_BYTES;
    /** Time of a launch, and of preparing an operation in place, in microseconds; an estimate. */
    private static final double IN_PLACE_BASE_MICROS = 6.8;
    /** Time of the two kernels by which ranks meet before and after copies, in microseconds; an estimate. */
    private static final double COPIES_BASE_MICROS = 2 * 3.0;
    /**
     * How much longer than kernels copy engines may take, as a factor: they leave all multiprocessors to the application.
     * An estimate.
     */
    private static final double COPIES_TOLERANCE = 1.1;

    private final GraphCostModel channels;
    private final KernelCosts costs;
    private final GpuShape shape;
    private final List<AddedGpuAlgorithm> added;
    private final double memoryGBps; // for the accesses of each rank; ranks that share a device share its memory
    private final double meetingMicros; // of the two barriers of an operation in place
    private final boolean inPlace;
    private final Set<Protocol> protocols;

    /**
     * Makes a model of one communicator; equal on all ranks.
     *
     * @param shape the channels and the communicator
     * @param ranksPerDevice the largest number of ranks that share a device
     * @param inPlace whether all ranks can address each other's buffers
     * @param protocols the protocols that have passed their self-test
     */
    public DeviceModel(
            GpuShape shape, int ranksPerDevice, boolean inPlace, Set<Protocol> protocols, TuningOverrides overrides) {
        this(shape, ranksPerDevice, inPlace, protocols, overrides, List.of());
    }

    /** @param added the algorithms of the communicator in addition to the ring, tree and direct ones */
    public DeviceModel(
            GpuShape shape,
            int ranksPerDevice,
            boolean inPlace,
            Set<Protocol> protocols,
            TuningOverrides overrides,
            List<AddedGpuAlgorithm> added) {
        this.shape = shape;
        this.memoryGBps = 2 * LinkSpeeds.deviceMemory(shape.minCapability()) / ranksPerDevice;
        this.channels = new GraphCostModel(shape, overrides, added);
        this.costs = new KernelCosts(shape, overrides.threads());
        this.added = List.copyOf(added);
        this.meetingMicros =
                2 * GraphCosts.hopMicros(Medium.within(shape.ring().typeIntra()), Algorithm.RING, Protocol.LL);
        this.inPlace = inPlace;
        this.protocols = Set.copyOf(protocols);
    }

    /**
     * Returns the shape that is assumed if no topology is known.
     *
     * @param hosts the number of hosts
     * @param localRanks the largest number of ranks on one host
     * @param ranksPerDevice the largest number of ranks that share a device; all ranks if there is only one device
     */
    public static GpuShape assumedShape(
            int ranks,
            int hosts,
            int localRanks,
            int channelCount,
            int treeDepth,
            int ranksPerDevice,
            int minCapability,
            int maxCapability,
            CommunicatorShape.SlotBytes slots) {
        // The links between several devices are unknown, so LL128 is assumed to be unsafe there.
        boolean oneDevice = ranksPerDevice == ranks;
        PathType path = oneDevice ? PathType.LOC : PathType.PHB;
        // In a ring over one device the last rank also forwards inside the device.
        int hops = Math.max(1, oneDevice ? ranksPerDevice : ranksPerDevice - 1);
        double each = Math.min(CHANNEL_GBPS, LinkSpeeds.deviceMemory(minCapability) / hops / channelCount);
        return new GpuShape(
                ranks,
                hosts,
                localRanks,
                channelCount,
                treeDepth,
                new GraphSummary(Pattern.RING, channelCount, each, each, path),
                new GraphSummary(Pattern.TREE, channelCount, each, each, path),
                minCapability,
                maxCapability,
                false,
                slots,
                0,
                PeerRates.UNLIMITED);
    }

    /**
     * Returns the bandwidth of one thread block in a long ring, in GB/s.
     *
     * @param capability the compute capability times ten, 0 if unknown
     */
    public static double ringGBpsOfBlock(int capability) {
        return KernelCosts.ringGBpsOfBlock(capability);
    }

    /**
     * Returns the size in bytes up to which an all-reduce in place is one-shot: each rank reads all data of all others,
     * unless a rank's buffers are the same.
     */
    public static long oneShotBytes(GpuShape shape) {
        return KernelCosts.oneShotBytes(shape.ranks(), shape.peers());
    }

    @Override
    public String described() {
        return channels.described() + (inPlace ? " that work in place" : "");
    }

    @Override
    public List<String> notes() {
        return channels.notes();
    }

    @Override
    public boolean exists(Collective collective, Algorithm algorithm, Protocol protocol) {
        return protocols.contains(protocol)
                && (channels.exists(collective, algorithm, protocol) || isInPlace(collective, algorithm, protocol));
    }

    @Override
    public boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return isInPlace(collective, algorithm, Protocol.SIMPLE)
                || channels.worthComparing(collective, algorithm, bytes);
    }

    private boolean isInPlace(Collective collective, Algorithm algorithm, Protocol protocol) {
        boolean suits = collective == Collective.ALL_REDUCE
                || collective == Collective.ALL_GATHER
                || collective == Collective.REDUCE_SCATTER;
        return reachesPeers() && suits && algorithm == Algorithm.DIRECT && protocol == Protocol.SIMPLE;
    }

    @Override
    public List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides) {
        return kernelChoices(collective, algorithm, protocol, bytes, overrides).stream()
                .map(choice -> copiesPay(collective, choice, bytes) ? choice.tryingCopies() : choice)
                .map(choice -> readsPay(collective, choice, bytes) ? choice.tryingZeroCopy() : choice)
                .toList();
    }

    /**
     * Returns true if receivers need less time to read messages out of the symmetric memory of their senders than to get
     * them through slots. Messages from other memory go through slots, so {@link #micros} predicts those.
     */
    private boolean readsPay(Collective collective, Choice choice, long bytes) {
        if (!reachesPeers() || !OperationCost.isPairwise(collective) || choice.protocol() != Protocol.SIMPLE) {
            return false;
        }
        double links = linkMicros(collective, choice, bytes) * costs.slownessOfReads();
        double blocks = accessMicros(choice.channels(), bytes * costs.accessedByReads(collective));
        double moving = Math.max(Math.max(links, blocks), channels.transferMicros(collective, choice, bytes));
        // The sender waits for the answer to its last message.
        return channels.latencyMicros(collective, choice, bytes) + meetingMicros + moving
                < micros(collective, choice, bytes);
    }

    private boolean reachesPeers() {
        return inPlace && shape.ranks() > 1 && shape.ranks() <= DeviceConfig.DIRECT_RANKS;
    }

    /**
     * Returns true if copy engines may move the data out of symmetric memory, and take at most a little longer than the
     * kernels of a choice. The kernels execute the operation if any rank uses other memory, so {@link #micros} predicts
     * them.
     */
    private boolean copiesPay(Collective collective, Choice choice, long bytes) {
        if (!reachesPeers()) {
            return false;
        }
        boolean suits = collective == Collective.ALL_GATHER || collective == Collective.ALL_TO_ALL;
        // Each byte of the output is read and written once.
        double moving = Math.max(costs.copiesMicros(bytes), 2 * bytes / memoryGBps / GraphCosts.BYTES_PER_MICRO);
        return suits
                && IN_PLACE_BASE_MICROS + meetingMicros + COPIES_BASE_MICROS + moving
                        <= COPIES_TOLERANCE * micros(collective, choice, bytes);
    }

    private List<Choice> kernelChoices(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides) {
        if (isInPlace(collective, algorithm, protocol)) {
            int used = overrides.maxChannels(shape.channels());
            // An operation in place moves no chunks: any valid value.
            return List.of(new Choice(algorithm, protocol, used, shape.slots().simple(), true));
        }
        return channels.candidates(collective, algorithm, protocol, bytes, overrides);
    }

    @Override
    public double micros(Collective collective, Choice choice, long bytes) {
        if (isInPlace(collective, choice.algorithm(), choice.protocol())) {
            double moving = inPlaceMicros(collective, choice, bytes);
            if (collective == Collective.ALL_REDUCE && bytes > costs.oneShotBytes()) {
                // A two-shot operation may be faster than a smaller one-shot one. Predicted times never decrease with
                // the
                // size.
                moving = Math.max(moving, inPlaceMicros(collective, choice, costs.oneShotBytes()));
            }
            return IN_PLACE_BASE_MICROS + meetingMicros + moving;
        }
        double moving = boundMicros(collective, choice, bytes);
        // A smaller size with fewer channels may take longer. Predicted times never decrease with the size.
        long perChannel = channels.bytesPerChannel(choice.algorithm(), choice.protocol());
        for (int fewer = 1; fewer < choice.channels(); fewer++) {
            long last = Math.min(bytes, (fewer + 1) * perChannel - 1);
            moving = Math.max(moving, last > 0 ? boundMicros(collective, choice.onChannels(fewer), last) : 0);
        }
        return channels.latencyMicros(collective, choice, bytes)
                + Math.max(moving, channels.transferMicros(collective, choice, bytes));
    }

    /** Returns the time of an operation in place without its launch and the meetings of its ranks. */
    private double inPlaceMicros(Collective collective, Choice choice, long bytes) {
        double links = linkMicros(collective, choice, bytes) * costs.slownessInPlace(collective, bytes);
        double accesses = accessMicros(choice.channels(), bytes * costs.accessedInPlace(collective, bytes));
        return costs.confirmationMicros(collective, bytes) + Math.max(links, accesses);
    }

    /** Returns the least time in which links, blocks and memory can move the bytes of an operation through slots. */
    private double boundMicros(Collective collective, Choice choice, long bytes) {
        double accessed = addedFor(choice.algorithm())
                .map(one -> one.accessed(collective, shape))
                .orElseGet(() -> costs.accessedThroughSlots(collective, choice));
        return Math.max(linkMicros(collective, choice, bytes), accessMicros(choice.channels(), bytes * accessed));
    }

    /** Returns the time in which a rank's blocks and the memory of its device move bytes. */
    private double accessMicros(int blocks, double bytes) {
        return bytes / Math.min(costs.blocksGBps(blocks), memoryGBps) / GraphCosts.BYTES_PER_MICRO;
    }

    @Override
    public double linkMicros(Collective collective, Choice choice, long bytes) {
        if (shape.ranks() == 1) {
            return 0;
        }
        if (isInPlace(collective, choice.algorithm(), choice.protocol())) {
            return costs.inPlaceMicros(collective, bytes);
        }
        return switch (choice.algorithm()) {
            case RING, TREE -> channels.linkMicros(collective, choice, bytes);
            case DIRECT -> costs.directMicros(collective, choice, bytes);
            default -> addedFor(choice.algorithm())
                    .map(one -> bytes / one.linkGBps(collective, shape) / GraphCosts.BYTES_PER_MICRO)
                    .orElse(0.0);
        };
    }

    private Optional<AddedGpuAlgorithm> addedFor(Algorithm algorithm) {
        return added.stream().filter(one -> one.algorithm() == algorithm).findFirst();
    }
}
