package io.jccl.init;

import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.Settings;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanOptions;
import io.jccl.tuning.MachineTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Rings and trees over the GPUs of the ranks, beside those of the host.
 *
 * @param plan over all machines
 * @param traits of all machines together
 * @param sharing the ranks of each GPU that several share, in ascending order
 * @param direct the network devices that use the memory of this rank's GPU
 */
record GpuPlan(Plan plan, MachineTraits traits, List<List<Integer>> sharing, DirectSlots.Devices direct) {

    /**
     * Searches the machines with the ranks' GPUs as endpoints; all ranks call it together.
     *
     * @param options what the settings say about channels
     * @return empty where a rank has no GPU or only an instance of one, or one is in no topology: then the host's plan
     *     serves for both
     */
    static Optional<GpuPlan> make(
            Settings settings,
            Bootstrap membership,
            List<PeerInfo> peers,
            PeerMap map,
            PlanOptions options,
            Duration left) {
        if (peers.stream().anyMatch(peer -> peer.device().isEmpty()) || anyInstance(peers)) {
            return Optional.empty();
        }
        int rank = membership.rank();
        Map<String, List<Integer>> ranks = new TreeMap<>();
        map.ranksOfHost(rank).forEach(one -> ranks.computeIfAbsent(
                        peers.get(one.rank()).device().orElseThrow().busId(), busId -> new ArrayList<>())
                .add(one.rank()));
        boolean lowest = map.ranksOfMachine(rank).get(0) == rank;
        Optional<LocalTopology.Searched> searched = LocalTopology.searchGpus(settings, rank, map, ranks);
        byte[] mine =
                searched.map(it -> ChannelsCodec.encode(it.found(), lowest)).orElse(new byte[0]);
        List<byte[]> all = membership.outOfBand().allGather(mine, left);
        if (all.stream().anyMatch(found -> found.length == 0)) {
            return Optional.empty();
        }
        MachineChannels channels = MachineChannels.decode(map, all);
        DirectSlots.Devices direct =
                DirectSlots.Devices.of(searched.orElseThrow().paths(), rank);
        return Optional.of(
                new GpuPlan(Plan.build(channels.ofRanks(), options), channels.traits(), sharing(peers), direct));
    }

    /** Instances of a split GPU (MIG) have its bus id and each memory of its own: what joins them is not known. */
    private static boolean anyInstance(List<PeerInfo> peers) {
        Map<String, Set<String>> devices = new TreeMap<>();
        peers.forEach(peer -> devices.computeIfAbsent(place(peer), place -> new TreeSet<>())
                .add(peer.device().orElseThrow().uuid()));
        return devices.values().stream().anyMatch(uuids -> uuids.size() > 1);
    }

    private static List<List<Integer>> sharing(List<PeerInfo> peers) {
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        for (int rank = 0; rank < peers.size(); rank++) {
            ranks.computeIfAbsent(place(peers.get(rank)), place -> new ArrayList<>())
                    .add(rank);
        }
        return ranks.values().stream().filter(group -> group.size() > 1).toList();
    }

    private static String place(PeerInfo peer) {
        return peer.hostId() + " " + peer.device().orElseThrow().busId();
    }
}
