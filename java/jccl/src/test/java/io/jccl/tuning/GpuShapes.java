package io.jccl.tuning;

import io.jccl.planning.DescribedPlans;
import io.jccl.planning.MachineSurvey;
import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.search.PeerRates;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.XmlElement;
import java.util.LinkedHashMap;
import java.util.Map;

/** Makes shapes of GPU communicators for tests. */
public final class GpuShapes {

    static final CommunicatorShape.SlotBytes SLOTS = new CommunicatorShape.SlotBytes(32 << 10, 122_880, 512 << 10);

    private GpuShapes() {}

    /** Returns the shape of hosts whose rings and trees have the same channels. */
    public static GpuShape of(int localRanks, int hosts, int channels, double gbps, PathType type, int capability) {
        GraphSummary ring = new GraphSummary(Pattern.RING, channels, gbps, gbps, type);
        GraphSummary tree = new GraphSummary(Pattern.BALANCED_TREE, channels, gbps, gbps, type);
        return of(localRanks, hosts, channels, ring, tree, capability, capability, false);
    }

    static GpuShape of(
            int localRanks,
            int hosts,
            int channels,
            GraphSummary ring,
            GraphSummary tree,
            int minCapability,
            int maxCapability,
            boolean amd) {
        int depth = localRanks - 1 + CommunicatorShape.treeDepthOver(hosts);
        return new GpuShape(
                localRanks * hosts,
                hosts,
                localRanks,
                channels,
                depth,
                ring,
                tree,
                minCapability,
                maxCapability,
                amd,
                SLOTS,
                0,
                PeerRates.UNLIMITED);
    }

    /** Returns a shape with other bandwidths between its GPUs. */
    static GpuShape withPeers(GpuShape shape, PeerRates peers) {
        return new GpuShape(
                shape.ranks(),
                shape.hosts(),
                shape.localRanks(),
                shape.channels(),
                shape.treeDepth(),
                shape.ring(),
                shape.tree(),
                shape.minCapability(),
                shape.maxCapability(),
                shape.amdProcessors(),
                shape.slots(),
                shape.switchGBps(),
                peers);
    }

    /**
     * Returns the shapes of 1, 2, 4 and 32 hosts of a description, by the number of hosts; none if its ranks own no
     * GPUs.
     */
    static Map<Integer, GpuShape> of(XmlElement description) {
        Topology topology = GraphBuilder.build(description);
        Map<Integer, GpuShape> shapes = new LinkedHashMap<>();
        if (!topology.indexesOf(NodeType.HOST).isEmpty()) {
            return shapes;
        }
        shapes.put(1, of(description, 1, 1));
        for (int hosts : new int[] {2, 4, 32}) {
            shapes.put(hosts, of(description, 2, hosts));
        }
        return shapes;
    }

    /** Returns the shape of a number of hosts, with the channels of a plan over {@code planned} hosts. */
    private static GpuShape of(XmlElement description, int planned, int hosts) {
        MachineSurvey found = DescribedPlans.survey(description, planned > 1).survey();
        ChannelGraph ring = found.channels().rings();
        return of(
                ring.orders().get(0).size(),
                hosts,
                DescribedPlans.plan(description, planned).host().channels(),
                summary(ring),
                summary(found.channels().trees()),
                found.traits().minCapability(),
                found.traits().maxCapability(),
                found.traits().amdProcessors());
    }

    private static GraphSummary summary(ChannelGraph graph) {
        return new GraphSummary(graph.pattern(), graph.channels(), graph.bwIntra(), graph.bwInter(), graph.typeIntra());
    }
}
