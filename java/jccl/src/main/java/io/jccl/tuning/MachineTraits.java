package io.jccl.tuning;

import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.List;

/**
 * What the cost model for GPUs has to know of machines beside their channels.
 *
 * @param minCapability the lowest compute capability of GPUs with ranks, times ten; 0 where not known
 * @param maxCapability the highest
 * @param amdProcessors whether any machine has processors of AMD, which hand data to the network otherwise than Intel's
 */
public record MachineTraits(int minCapability, int maxCapability, boolean amdProcessors) {

    private static final String AMD = "AuthenticAMD";

    /** Checks that the numbers fit each other. */
    public MachineTraits {
        if (minCapability < 0 || maxCapability < minCapability) {
            throw new IllegalArgumentException("minCapability=" + minCapability + " maxCapability=" + maxCapability
                    + ": expected capabilities from 0 up, the lower first");
        }
    }

    /** Those of one machine; capabilities are 0 where its ranks own no GPUs. */
    public static MachineTraits of(Topology topology) {
        int least = Integer.MAX_VALUE;
        int most = 0;
        for (int endpoint : topology.endpoints()) {
            int capability = topology.node(endpoint) instanceof Node.Gpu gpu ? gpu.sm() : 0;
            least = Math.min(least, capability);
            most = Math.max(most, capability);
        }
        boolean amd = topology.indexesOf(NodeType.CPU).stream()
                .anyMatch(
                        cpu -> ((Node.Cpu) topology.node(cpu)).model().vendor().equals(AMD));
        return new MachineTraits(Math.min(least, most), most, amd);
    }

    /** Those of several machines together. */
    public static MachineTraits together(List<MachineTraits> machines) {
        return machines.stream()
                .reduce((one, other) -> new MachineTraits(
                        Math.min(one.minCapability, other.minCapability),
                        Math.max(one.maxCapability, other.maxCapability),
                        one.amdProcessors || other.amdProcessors))
                .orElseThrow(() -> new IllegalArgumentException("machines=[]: expected at least one"));
    }
}
