package io.jccl.init;

import io.jccl.nativelib.Rows;
import io.jccl.planning.Plan;
import io.jccl.planning.PlannedDevices;
import io.jccl.planning.PlannedDevices.NetworkPath;
import io.jccl.topology.Node;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Selects the connections of a rank whose slots are in the memory of its GPU, or of a forwarder's GPU (GPUDirect RDMA).
 */
final class DirectSlots {

    private DirectSlots() {}

    /**
     * The numbers of the network devices that use the memory of a rank's GPU.
     *
     * @param sending the devices that send from that memory
     * @param receiving the devices that receive into that memory
     * @param forwarders the forwarder (PXN) of each device that sends from the memory of another rank's GPU, by device
     */
    record Devices(Set<Integer> sending, Set<Integer> receiving, Map<Integer, Integer> forwarders) {

        static final Devices NONE = new Devices(Set.of(), Set.of(), Map.of());

        boolean use(int device, boolean sends) {
            return (sends ? sending : receiving).contains(device) || sends && forwarders.containsKey(device);
        }

        /** Finds the devices by the paths of this host. */
        static Devices of(NodePaths paths, int rank) {
            Topology topology = paths.topology();
            int gpu = topology.endpoints().stream()
                    .filter(node ->
                            topology.node(node).type() == NodeType.GPU && Topology.rankOf(topology.node(node)) == rank)
                    .findFirst()
                    .orElse(-1);
            Set<Integer> sending = new HashSet<>();
            Set<Integer> receiving = new HashSet<>();
            Map<Integer, Integer> forwarders = new HashMap<>();
            for (int net : gpu < 0 ? List.<Integer>of() : topology.indexesOf(NodeType.NET)) {
                if (!paths.path(gpu, net).exists()) {
                    continue;
                }
                int number = ((Node.Net) topology.node(net)).dev();
                int forwarder = paths.forwarder(gpu, net);
                boolean sends = paths.gpuDirect(gpu, net, true);
                if (forwarder >= 0 && sends) {
                    forwarders.put(number, Topology.rankOf(topology.node(forwarder)));
                } else if (forwarder < 0 && sends) {
                    sending.add(number);
                }
                if (forwarder < 0 && paths.gpuDirect(gpu, net, false)) {
                    receiving.add(number);
                }
            }
            return new Devices(Set.copyOf(sending), Set.copyOf(receiving), Map.copyOf(forwarders));
        }
    }

    /**
     * This rank's end of a connection.
     *
     * @param sends true if the connection leads to the peer, false if from the peer
     * @param device the number of the network device that the connection uses on this host
     */
    record Use(int peer, int channel, boolean sends, int device) {}

    /**
     * Returns the connections of rings and trees that use the memory of a GPU.
     *
     * @param channels the number of channels; if the plan has fewer, the further channels repeat the plan's
     * @param byAdapter returns true if a peer is reached over network adapters
     */
    static List<Use> of(Plan plan, int channels, int rank, Devices devices, IntPredicate byAdapter) {
        List<Use> uses = new ArrayList<>();
        for (int channel = 0; channel < channels; channel++) {
            Set<Integer> known = new HashSet<>();
            for (NetworkPath path : PlannedDevices.of(plan, channel % plan.channels(), rank)) {
                boolean sends = path.from() == rank;
                int peer = sends ? path.to() : path.from();
                int device = sends ? path.out() : path.in();
                boolean first = known.add(sends ? peer : -1 - peer); // the first path of a connection counts
                if (first && devices.use(device, sends) && byAdapter.test(peer)) {
                    uses.add(new Use(peer, channel, sends, device));
                }
            }
        }
        return uses;
    }

    /**
     * Returns further connections that use the memory of a GPU, for sends, receives and direct schedules. Only those
     * with the nearest ranks are included, because the memory of a GPU is too scarce for all. Most pairs of ranks agree
     * on what is near.
     *
     * @param planned the connections of rings and trees, which are not returned again
     * @param channelsWith returns the channels on which kernels use connections with a peer
     * @param max the most connections to return; a peer gets all of its connections or none
     */
    static List<Use> others(
            Plan plan,
            int rank,
            Devices devices,
            IntPredicate byAdapter,
            List<Use> planned,
            IntFunction<int[]> channelsWith,
            int max) {
        List<Use> uses = new ArrayList<>();
        for (int peer : byDistance(rank, plan.size()).filter(byAdapter).toArray()) {
            List<Use> more = new ArrayList<>();
            for (int channel : channelsWith.apply(peer)) {
                NetworkPath path = PlannedDevices.ofOthers(plan, channel % plan.channels(), rank);
                for (boolean sends : new boolean[] {true, false}) {
                    int device = sends ? path.out() : path.in();
                    boolean known = planned.stream()
                            .anyMatch(use -> use.peer() == peer && use.channel() == channel && use.sends() == sends);
                    if (!known && devices.use(device, sends)) {
                        more.add(new Use(peer, channel, sends, device));
                    }
                }
            }
            if (uses.size() + more.size() > max) {
                break;
            }
            uses.addAll(more);
        }
        return uses;
    }

    private static IntStream byDistance(int rank, int size) {
        return IntStream.range(1, size)
                .flatMap(distance -> IntStream.of(rank + distance, rank + size - distance))
                .map(peer -> peer % size)
                .distinct();
    }

    /** Returns the rows that the native engine expects. */
    static int[] rows(List<Use> uses) {
        return uses.stream()
                .flatMapToInt(use -> Arrays.stream(Rows.slotUse(use.peer(), use.channel(), use.sends(), use.device())))
                .toArray();
    }
}
