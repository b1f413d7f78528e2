package io.jccl.tuning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.XmlElement;
import java.util.IntSummaryStatistics;
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
        if (!GpuShape.describes(topology)) {
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
        IntSummaryStatistics capabilities = topology.nodes().stream()
                .filter(node -> node instanceof Node.Gpu gpu && gpu.rank() >= 0)
                .mapToInt(node -> ((Node.Gpu) node).sm())
                .summaryStatistics();
        boolean amd = topology.indexesOf(NodeType.CPU).stream()
                .anyMatch(
                        cpu -> ((Node.Cpu) topology.node(cpu)).model().vendor().equals("AuthenticAMD"));
        return of(
                ring.orders().get(0).size(),
                machines,
                report.plan().orElseThrow().channels(),
                GraphSummary.of(ring),
                GraphSummary.of(report.graphs().get("tree").graph()),
                capabilities.getMin(),
                capabilities.getMax(),
                amd);
    }

    static TopologyReport report(XmlElement description, int machines) {
        return ReportRequests.report(description, machines, SLOTS, 0);
    }
}
