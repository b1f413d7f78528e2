package io.jccl.tuning;

import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.List;

/**
 * What the cost model for GPUs needs to know of hosts beside their channels.
 *
 * @param minCapability the lowest compute capability of GPUs with ranks, times ten; 0 where not known
 * @param maxCapability the highest
 * @param amdProcessors whether any host has processors of AMD, which pass data to the network differently from Intel's
 */
public record HostTraits(int minCapability, int maxCapability, boolean amdProcessors) {

    private static final String AMD = "AuthenticAMD";

    /** Checks that the numbers fit each other. */
    public HostTraits {
        if (minCapability < 0 || maxCapability < minCapability) {
            throw new IllegalArgumentException("minCapability=" + minCapability + " maxCapability=" + maxCapability
                    + ": expected capabilities from 0 up, the lower first");
        }
    }

    /** Those of one host; capabilities are 0 where its ranks own no GPUs. */
    public static HostTraits of(Topology topology) {
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
        return new HostTraits(Math.min(min, max), max, amd);
    }

    /** Those of several hosts together. */
    public static HostTraits together(List<HostTraits> hosts) {
        return hosts.stream()
                .reduce((one, other) -> new HostTraits(
                        Math.min(one.minCapability, other.minCapability),
                        Math.max(one.maxCapability, other.maxCapability),
                        one.amdProcessors || other.amdProcessors))
                .orElseThrow(() -> new IllegalArgumentException("hosts=[]: expected at least one"));
    }
}
