package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.PathType;
import java.util.List;
import java.util.Set;

/**
 * Predicts operations on GPUs: by {@link GraphCostModel} through channels, and in addition the direct algorithm that
 * reads and writes buffers in place.
 *
 * <p>The constants come from data sheets, except {@link #THROUGH_SLOTS}, which was measured.
 */
public final class DeviceModel implements TimeModel {

    /** Bandwidth of one channel's thread block, in GB/s. */
    private static final double CHANNEL_GBPS = 20;
    /**
     * Bandwidth of one GPU's link to its host in each direction, in GB/s: PCI Express 3.0 x16 less its overhead. Newer
     * links carry more, but data through host memory is also limited by that memory and by other GPUs' links.
     */
    public static final double HOST_LINK_GBPS = 12;
    /** Time of a launch and of the two barriers of an operation in place, in microseconds. */
    private static final double IN_PLACE_MICROS = 8;

    /**
     * Share of the bandwidth in place that is left if ranks share a device and data goes through slots, because it is
     * written and read once more. Measured with two ranks on an H100, all-reduce of 128 MiB: 279 GB/s instead of 473.
     */
    private static final double THROUGH_SLOTS = 0.59;

    private static final double BYTES_PER_MICRO = 1000;

    private final GraphCostModel channels;
    private final int ranks;
    private final int channelCount;
    private final double inPlaceGBps; // ranks that share a device share its memory
    private final boolean inPlace;
    private final int chunkBytes; // in choices for operations in place, which move no chunks: any valid value
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
        this.ranks = shape.ranks();
        this.channelCount = shape.channels();
        double memoryGBps = LinkSpeeds.deviceMemory(shape.minCapability());
        this.inPlaceGBps = Math.min(memoryGBps / ranksPerDevice, CHANNEL_GBPS * channelCount);
        boolean oneDevice = ranks > 1 && ranksPerDevice == ranks;
        GpuShape slots = oneDevice ? shape.carryingAtMost(THROUGH_SLOTS * inPlaceGBps) : shape;
        this.channels = new GraphCostModel(slots, overrides, added);
        this.inPlace = inPlace;
        this.chunkBytes = shape.slots().simple();
        this.protocols = Set.copyOf(protocols);
    }

    /**
     * Returns the shape that is assumed if no topology is known.
     *
     * @param ranksPerDevice the largest number of ranks that share a device; all ranks if there is only one device
     */
    public static GpuShape assumedShape(
            int ranks,
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
                1,
                ranks,
                channelCount,
                treeDepth,
                new GraphSummary(Pattern.RING, channelCount, each, each, path),
                new GraphSummary(Pattern.TREE, channelCount, each, each, path),
                minCapability,
                maxCapability,
                false,
                slots,
                0);
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

    private boolean isInPlace(Collective collective, Algorithm algorithm, Protocol protocol) {
        boolean suits = collective == Collective.ALL_REDUCE
                || collective == Collective.ALL_GATHER
                || collective == Collective.REDUCE_SCATTER;
        return inPlace && suits && algorithm == Algorithm.DIRECT && protocol == Protocol.SIMPLE && ranks > 1;
    }

    @Override
    public List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides) {
        if (isInPlace(collective, algorithm, protocol)) {
            return List.of(new Choice(algorithm, protocol, channelCount, chunkBytes, true));
        }
        return channels.candidates(collective, algorithm, protocol, bytes, overrides);
    }

    @Override
    public double micros(Collective collective, Choice choice, long bytes) {
        if (!isInPlace(collective, choice.algorithm(), choice.protocol())) {
            return channels.micros(collective, choice, bytes);
        }
        // Every byte is read once and written once for each rank.
        return IN_PLACE_MICROS + bytes / (inPlaceGBps * BYTES_PER_MICRO);
    }
}
