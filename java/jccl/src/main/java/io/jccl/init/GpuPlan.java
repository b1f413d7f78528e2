package io.jccl.init;

import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.Settings;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanOptions;
import io.jccl.tuning.MachineTraits;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Rings and trees over the GPUs of the ranks, beside those of the host.
 *
 * @param plan over all machines
 * @param traits of all machines together
 */
record GpuPlan(Plan plan, MachineTraits traits) {

    /**
     * Searches the machines with the ranks' GPUs as endpoints; all ranks call it together.
     *
     * @param options what the settings say about channels
     * @return empty where a rank has no GPU, ranks share one, or one is in no topology: then the host's plan serves for both
     */
    static Optional<GpuPlan> make(
            Settings settings,
            Bootstrap membership,
            List<PeerInfo> peers,
            PeerMap map,
            PlanOptions options,
            Duration left) {
        if (peers.stream().anyMatch(peer -> peer.device().isEmpty()) || anyShared(peers)) {
            return Optional.empty();
        }
        int rank = membership.rank();
        Map<String, Integer> ranks = new HashMap<>();
        map.ranksOfHost(rank)
                .forEach(one ->
                        ranks.put(peers.get(one.rank()).device().orElseThrow().busId(), one.rank()));
        boolean lowest = map.ranksOfMachine(rank).get(0) == rank;
        byte[] mine = LocalTopology.searchGpus(settings, rank, map, ranks)
                .map(it -> ChannelsCodec.encode(it.found(), lowest))
                .orElse(new byte[0]);
        List<byte[]> all = membership.outOfBand().allGather(mine, left);
        if (all.stream().anyMatch(found -> found.length == 0)) {
            return Optional.empty();
        }
        MachineChannels channels = MachineChannels.decode(map, all);
        return Optional.of(new GpuPlan(Plan.build(channels.ofRanks(), options), channels.traits()));
    }

    private static boolean anyShared(List<PeerInfo> peers) {
        return peers.stream()
                        .map(peer -> peer.hostId() + " "
                                + peer.device().orElseThrow().busId())
                        .distinct()
                        .count()
                < peers.size();
    }
}
