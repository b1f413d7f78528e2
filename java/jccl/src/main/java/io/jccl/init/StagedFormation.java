package io.jccl.init;

import io.jccl.DataType;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.bootstrap.RankList;
import io.jccl.config.MemorySettings;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.DeviceStaging;
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
 * Decides whether the host carries out a communicator's operations on device memory, and forms what that takes. Contexts of
 * different processes take turns on a GPU unless an MPS server serves them, so a kernel that waits for one of another process
 * waits a time slice for every step. There nothing may wait on the device.
 */
final class StagedFormation {

    private static final Logger LOG = LoggerFactory.getLogger(StagedFormation.class);
    private static final Duration TRIAL = Duration.ofSeconds(20);
    private static final int LARGEST_ELEMENT =
            Arrays.stream(DataType.values()).mapToInt(DataType::bytes).max().orElseThrow();

    private StagedFormation() {}

    /**
     * Makes it, or nothing where kernels carry operations out.
     *
     * @throws io.jccl.DeviceException if the device's streams cannot wait for the host
     */
    static Optional<StagedDevice> form(Settings settings, Bootstrap membership, List<PeerInfo> peers, Duration left) {
        int rank = membership.rank();
        String setting = settings.get(TransportSettings.GPU_STAGED);
        Optional<String> taking = takingTurns(peers);
        Optional<String> reason = reason(setting, peers, taking);
        if (reason.isEmpty()) {
            taking.ifPresent(turns -> LOG.warn(
                    "rank={} GPU operations: by kernels that wait a time slice for each other, because {} and"
                            + " JCCL_GPU_STAGED={}",
                    rank,
                    turns,
                    setting));
            return Optional.empty();
        }
        LOG.info(
                "rank={} GPU operations: staged through memory of the host, which carries them out, because {}",
                rank,
                reason.get());
        // Each piece has at least an element of every block.
        long slotBytes = Math.max(
                settings.get(MemorySettings.GPU_STAGED_BUFFSIZE) / StagedDevice.SLOTS,
                2L * peers.size() * LARGEST_ELEMENT);
        int ordinal = peers.get(rank).device().orElseThrow().ordinal();
        ByteBuffer id = ByteBuffer.wrap(membership.sessionId());
        long trialNanos = Math.min(left.toNanos(), TRIAL.toNanos());
        DeviceStaging staging = DeviceStaging.create(ordinal, rank, id.getLong(), id.getLong(), trialNanos);
        StagedDevice device = new StagedDevice(ordinal, staging, slotBytes);
        boolean formed = false;
        try {
            staging.area(device.areaBytes(peers.size()));
            formed = true;
            return Optional.of(device);
        } finally {
            if (!formed) {
                staging.destroy();
            }
        }
    }

    /** Why the host carries operations out: found from what all ranks know, so all find the same; or nothing. */
    private static Optional<String> reason(String setting, List<PeerInfo> peers, Optional<String> takingTurns) {
        if (peers.stream().anyMatch(peer -> peer.device().isEmpty())) {
            return Optional.empty();
        }
        return switch (setting) {
            case "on" -> Optional.of("JCCL_GPU_STAGED=on");
            case "off" -> Optional.empty();
            default -> takingTurns;
        };
    }

    /** Which ranks of different processes share a GPU without an MPS server; or nothing. */
    static Optional<String> takingTurns(List<PeerInfo> peers) {
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
}
