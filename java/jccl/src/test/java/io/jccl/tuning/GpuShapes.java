package io.jccl.tuning;

import io.jccl.plan.GraphSummary;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.XmlElement;
import java.util.LinkedHashMap;
import java.util.Map;

/** Communicators of GPUs for tests. */
final class GpuShapes {

    static final CommunicatorShape.SlotBytes SLOTS = new CommunicatorShape.SlotBytes(32 << 10, 122_880, 512 << 10);

    private GpuShapes() {}

    /** Machines whose rings and trees have the same channels. */
    static GpuShape of(int localRanks, int machines, int channels, double gbps, PathType type, int capability) {
        GraphSummary ring = new GraphSummary(Pattern.RING, channels, gbps, gbps, type);
        GraphSummary tree = new GraphSummary(Pattern.BALANCED_TREE, channels, gbps, gbps, type);
        return of(localRanks, machines, channels, ring, tree, capability, capability, false);
    }

    static GpuShape of(
            int localRanks,
            int machines,
            int channels,
            GraphSummary ring,
            GraphSummary tree,
            int minCapability,
            int maxCapability,
            boolean amd) {
        int depth = localRanks - 1 + CommunicatorShape.treeDepthOver(machines);
        return new GpuShape(
                localRanks * machines,
                machines,
                localRanks,
                channels,
                depth,
                ring,
                tree,
                minCapability,
                maxCapability,
                amd,
                SLOTS);
    }

    /** One, 2, 4 and 32 machines like the one described; none if its ranks own no GPUs. */
    static Map<Integer, GpuShape> of(XmlElement description) {
        Topology topology = GraphBuilder.build(description);
        Map<Integer, GpuShape> shapes = new LinkedHashMap<>();
        if (!topology.indexesOf(NodeType.HOST).isEmpty()) {
            return shapes;
        }
        shapes.put(1, of(topology, report(description, 1), 1));
        TopologyReport several = report(description, 2);
        for (int machines : new int[] {2, 4, 32}) {
            shapes.put(machines, of(topology, several, machines));
        }
        return shapes;
    }

    private static GpuShape of(Topology topology, TopologyReport report, int machines) {
        ChannelGraph ring = report.graphs().get("ring").graph();
        MachineTraits traits = MachineTraits.of(topology);
        return of(
                ring.orders().get(0).size(),
                machines,
                report.plan().orElseThrow().channels(),
                summary(ring),
                summary(report.graphs().get("tree").graph()),
                traits.minCapability(),
                traits.maxCapability(),
                traits.amdProcessors());
    }

    private static GraphSummary summary(ChannelGraph graph) {
        return new GraphSummary(graph.pattern(), graph.channels(), graph.bwIntra(), graph.bwInter(), graph.typeIntra());
    }

    static TopologyReport report(XmlElement description, int machines) {
        return ReportRequests.report(description, machines, SLOTS, 0);
    }
}
