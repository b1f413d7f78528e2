package io.jccl.planning;

import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.TreeMap;

/** Describes for the log which network devices of a host each of its ranks uses according to the plan. */
public final class NetworkMap {

    private final Plan plan;
    private final PlannedHost host;
    private final NodePaths paths;
    /** The channels that use a device, by rank and device number. */
    private final Map<Integer, Map<Integer, BitSet>> uses = new TreeMap<>();

    private NetworkMap(Plan plan, PlannedHost host, NodePaths paths) {
        this.plan = plan;
        this.host = host;
        this.paths = paths;
    }

    /**
     * Returns for example
     * {@code GPU/0: NET/0 (mlx5_0) PIX channels 0-3; GPU/1: NET/1 (mlx5_1) PIX channels 4-7; unused: NET/2 (eth0)}.
     * Empty if no channel leaves the host by a known device.
     *
     * @param host the number of the host in the plan
     * @param paths the paths of that host with which the search worked; its endpoints have the numbers of the plan's
     *     ranks
     */
    public static Optional<String> describe(Plan plan, int host, NodePaths paths) {
        NetworkMap map = new NetworkMap(plan, plan.hosts().get(host), paths);
        map.collect();
        return map.uses.isEmpty() ? Optional.empty() : Optional.of(map.describe());
    }

    private void collect() {
        if (plan.hosts().size() == 1) {
            return;
        }
        for (int rank : host.ranks()) {
            for (int channel = 0; channel < plan.channels(); channel++) {
                for (PlannedDevices.NetworkPath path : PlannedDevices.of(plan, channel, rank)) {
                    use(rank, path.from() == rank ? path.out() : path.in(), channel);
                }
            }
        }
    }

    private void use(int rank, int device, int channel) {
        if (device == PlannedDevices.UNKNOWN) {
            return;
        }
        uses.computeIfAbsent(rank, key -> new TreeMap<>())
                .computeIfAbsent(device, key -> new BitSet())
                .set(channel);
    }

    private String describe() {
        Topology topology = paths.topology();
        StringJoiner text = new StringJoiner("; ");
        for (int endpoint : topology.endpoints()) {
            Map<Integer, BitSet> devices = uses.get(Topology.rankOf(topology.node(endpoint)));
            if (devices != null) {
                StringJoiner used =
                        new StringJoiner(", ", topology.node(endpoint).name() + ": ", "");
                devices.forEach((device, channels) -> used.add(use(endpoint, device, channels)));
                text.add(used.toString());
            }
        }
        StringJoiner unused = new StringJoiner(", ", "unused: ", "").setEmptyValue("");
        for (int index : topology.indexesOf(NodeType.NET)) {
            Node.Net net = (Node.Net) topology.node(index);
            if (uses.values().stream().noneMatch(devices -> devices.containsKey(net.dev()))) {
                unused.add(net.label());
            }
        }
        if (unused.length() > 0) {
            text.add(unused.toString());
        }
        return text.toString();
    }

    private String use(int endpoint, int device, BitSet channels) {
        Topology topology = paths.topology();
        for (int index : topology.indexesOf(NodeType.NET)) {
            Node.Net net = (Node.Net) topology.node(index);
            if (net.dev() == device) {
                NodePath path = paths.path(endpoint, index);
                return net.label() + " " + path.type() + " channels " + ranges(channels);
            }
        }
        // the topology lacks the device: the plan was made from another description
        return "NET/" + device + " channels " + ranges(channels);
    }

    /** Returns for example {@code 0-3,6}. */
    private static String ranges(BitSet channels) {
        StringJoiner text = new StringJoiner(",");
        for (int from = channels.nextSetBit(0); from >= 0; ) {
            int end = channels.nextClearBit(from);
            text.add(end == from + 1 ? Integer.toString(from) : from + "-" + (end - 1));
            from = channels.nextSetBit(end);
        }
        return text.toString();
    }
}
