package io.jccl.init;

import io.jccl.DataType;
import io.jccl.config.MemorySettings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.DeviceStaging;
import io.jccl.parts.InitContext;
import io.jccl.wire.RankList;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A communicator's part on a GPU whose operations the host executes (host staging). A GPU time-slices contexts of
 * different processes unless an MPS server serves them. A kernel that waits for a kernel of another process then waits
 * a time slice for every step, so no kernel may wait.
 *
 * @param ordinal the device's number in this process
 * @param staging puts copies, stream signals and stream waits on streams
 * @param slotBytes the largest size of one chunk
 */
public record StagedDevice(int ordinal, DeviceStaging staging, long slotBytes) {

    /** Number of chunks that are in pinned memory at the same time. */
    public static final int SLOTS = 2;

    private static final Logger LOG = LoggerFactory.getLogger(StagedDevice.class);
    private static final Duration SELF_TEST_LIMIT = Duration.ofSeconds(20);

    /**
     * Creates the part of this rank's GPU; empty if kernels execute operations or no rank has a GPU.
     *
     * @throws io.jccl.DeviceException if the device's streams cannot wait for the host
     */
    static Optional<StagedDevice> create(InitContext context, Peers peers) {
        int rank = context.rank();
        if (!peers.anyHasDevice()) {
            return Optional.empty();
        }
        String setting = context.settings().get(TransportSettings.GPU_HOST_STAGING);
        Optional<String> slicing = timeSlicing(peers.all());
        Optional<String> reason = reason(setting, peers, slicing);
        if (reason.isEmpty()) {
            slicing.ifPresent(shared -> LOG.warn(
                    "rank={} GPU operations: by kernels that wait a time slice for each other, because {} and"
                            + " JCCL_GPU_HOST_STAGING={}",
                    rank,
                    shared,
                    setting));
            return Optional.empty();
        }
        LOG.info(
                "rank={} GPU operations: staged through memory of the host, which executes them, because {}",
                rank,
                reason.get());
        int largestElement =
                Arrays.stream(DataType.values()).mapToInt(DataType::bytes).max().orElseThrow();
        // A chunk must have space for one element of each rank's block.
        long slotBytes = Math.max(
                context.settings().get(MemorySettings.GPU_HOST_STAGING_BUFFSIZE) / SLOTS,
                2L * context.size() * largestElement);
        int ordinal = peers.get(rank).device().orElseThrow().ordinal();
        ByteBuffer id = ByteBuffer.wrap(context.membership().sessionId());
        long selfTestNanos = Math.min(context.left().toNanos(), SELF_TEST_LIMIT.toNanos());
        DeviceStaging staging = DeviceStaging.create(ordinal, rank, id.getLong(), id.getLong(), selfTestNanos);
        StagedDevice device = new StagedDevice(ordinal, staging, slotBytes);
        boolean created = false;
        try {
            staging.area(device.areaBytes(context.size()));
            created = true;
            return Optional.of(device);
        } finally {
            if (!created) {
                staging.destroy();
            }
        }
    }

    /** Returns true if the host executes operations on memory of GPUs; the same on all ranks. */
    static boolean isUsed(InitContext context, Peers peers) {
        String setting = context.settings().get(TransportSettings.GPU_HOST_STAGING);
        return reason(setting, peers, timeSlicing(peers.all())).isPresent();
    }

    /** Returns the reason why the host executes operations; empty if kernels do. The same on all ranks. */
    private static Optional<String> reason(String setting, Peers peers, Optional<String> timeSlicing) {
        if (!peers.allHaveDevices()) {
            return Optional.empty();
        }
        return switch (setting) {
            case "on" -> Optional.of("JCCL_GPU_HOST_STAGING=on");
            case "off" -> Optional.empty();
            default -> timeSlicing;
        };
    }

    /** Describes the ranks of different processes that share a GPU without an MPS server; empty if there are none. */
    static Optional<String> timeSlicing(List<PeerInfo> peers) {
        TreeMap<String, TreeSet<Integer>> sharing = new TreeMap<>();
        IntStream.range(0, peers.size())
                .forEach(rank -> peers.get(rank).device().ifPresent(device -> sharing.computeIfAbsent(
                                device.uuid(), uuid -> new TreeSet<>())
                        .add(rank)));
        String groups = sharing.values().stream()
                .filter(ranks -> ranks.stream()
                                .map(rank -> peers.get(rank).process())
                                .distinct()
                                .count()
                        > 1)
                .filter(ranks -> ranks.stream()
                        .anyMatch(
                                rank -> !peers.get(rank).device().orElseThrow().servedByMps()))
                .map(ranks -> "ranks " + RankList.text(ranks))
                .collect(Collectors.joining(", and "));
        return groups.isEmpty()
                ? Optional.empty()
                : Optional.of(groups + " share a GPU from different processes without an MPS server");
    }

    /**
     * Returns the bytes of pinned memory that collectives need: slots, and space for two {@code long} values for each
     * rank.
     */
    public long areaBytes(int ranks) {
        return SLOTS * slotBytes + 2L * ranks * Long.BYTES;
    }

    /** Releases waiting streams and frees the memory. No operation may be in flight. */
    public void destroy() {
        staging.destroy();
    }
}
