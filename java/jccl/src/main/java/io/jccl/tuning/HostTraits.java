package io.jccl.tuning;

import io.jccl.search.PeerRates;
import io.jccl.topology.Link;
import io.jccl.topology.Node;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.Topology;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The properties of hosts, in addition to their channels, that the cost model for GPUs needs.
 *
 * @param minCapability the lowest compute capability of GPUs with ranks, times ten; 0 if unknown
 * @param maxCapability the highest compute capability of GPUs with ranks, times ten
 * @param amdProcessors whether any host has AMD processors, whose cost of passing data to the network differs from
 *     Intel's
 * @param switchGBps bandwidth in GB/s, in one direction, of a GPU's NVLinks to the switch that connects all GPUs; the
 *     lowest if GPUs differ; 0 if no switch connects all GPUs, or if the switch cannot reduce for all GPUs
 * @param peers the bandwidth between each pair of GPUs
 * @param apart whether any two ranks of a host have GPUs that do not use each other's memory by the plan
 * @param ranksPerDevice the largest number of ranks that share a GPU; 1 if the ranks own no GPUs
 */
public record HostTraits(
        int minCapability,
        int maxCapability,
        boolean amdProcessors,
        double switchGBps,
        PeerRates peers,
        boolean apart,
        int ranksPerDevice) {

    private static final String AMD = "AuthenticAMD";
    /** Lowest compute capability (times ten) of GPUs that can use a switch for reductions. */
    private static final int SWITCH_CAPABILITY = 90;

    public HostTraits {
        if (minCapability < 0 || maxCapability < minCapability) {
            throw new IllegalArgumentException("minCapability=" + minCapability + " maxCapability=" + maxCapability
                    + ": expected capabilities from 0 up, the lower first");
        }
        if (!(switchGBps >= 0) || Double.isInfinite(switchGBps)) {
            throw new IllegalArgumentException("switchGBps=" + switchGBps + ": expected a bandwidth, or 0");
        }
        if (ranksPerDevice < 1) {
            throw new IllegalArgumentException("ranksPerDevice=" + ranksPerDevice + ": expected at least 1");
        }
    }

    /** Returns the traits of one host; capabilities are 0 if its ranks own no GPUs. */
    public static HostTraits of(NodePaths paths) {
        Topology topology = paths.topology();
        int min = Integer.MAX_VALUE;
        int max = 0;
        for (int endpoint : topology.endpoints()) {
            int capability = topology.node(endpoint) instanceof Node.Gpu gpu ? gpu.sm() : 0;
            min = Math.min(min, capability);
            max = Math.max(max, capability);
        }
        boolean amd = false;
        for (int cpu : topology.indexesOf(NodeType.CPU)) {
            amd |= ((Node.Cpu) topology.node(cpu)).model().vendor().equals(AMD);
        }
        return new HostTraits(
                Math.min(min, max),
                max,
                amd,
                switchGBps(topology),
                PeerRates.of(paths),
                anyApart(paths),
                SharedGpus.of(topology).ranks().values().stream()
                        .mapToInt(List::size)
                        .max()
                        .orElse(1));
    }

    private static boolean anyApart(NodePaths paths) {
        List<Integer> gpus = paths.topology().endpoints().stream()
                .filter(node -> paths.topology().node(node) instanceof Node.Gpu)
                .toList();
        return gpus.stream().anyMatch(one -> gpus.stream().anyMatch(other -> !paths.peerToPeer(one, other)));
    }

    private static double switchGBps(Topology topology) {
        List<Integer> endpoints = topology.endpoints();
        double best = 0;
        for (int nvs : topology.indexesOf(NodeType.NVS)) {
            double narrowest = Double.POSITIVE_INFINITY;
            Set<String> gpus = new HashSet<>();
            for (int endpoint : endpoints) {
                boolean own = topology.node(endpoint) instanceof Node.Gpu gpu
                        && gpu.sm() >= SWITCH_CAPABILITY
                        && gpu.barredPeers().isEmpty()
                        && gpus.add(gpu.busId());
                double links = 0;
                for (Link link : topology.links(endpoint)) {
                    links += own && link.to() == nvs ? link.bandwidthGBps() : 0;
                }
                narrowest = Math.min(narrowest, links);
            }
            best = endpoints.size() > 1 ? Math.max(best, narrowest) : 0;
        }
        return best;
    }

    /** Returns the traits of several hosts together. */
    public static HostTraits together(List<HostTraits> hosts) {
        return hosts.stream()
                .reduce((one, other) -> new HostTraits(
                        Math.min(one.minCapability, other.minCapability),
                        Math.max(one.maxCapability, other.maxCapability),
                        one.amdProcessors || other.amdProcessors,
                        Math.min(one.switchGBps, other.switchGBps),
                        one.peers.worst(other.peers),
                        one.apart || other.apart,
                        Math.max(one.ranksPerDevice, other.ranksPerDevice)))
                .orElseThrow(() -> new IllegalArgumentException("hosts=[]: expected at least one"));
    }
}
