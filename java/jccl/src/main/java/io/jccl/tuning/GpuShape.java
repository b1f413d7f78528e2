package io.jccl.tuning;

import io.jccl.search.GraphSummary;
import io.jccl.search.PeerRates;
import java.util.Objects;

/**
 * The properties of a communicator over GPUs that the cost model needs. Every rank must pass equal values: pass the
 * values agreed in the bootstrap, not this rank's own.
 *
 * @param ranks the number of ranks
 * @param hosts the number of hosts
 * @param localRanks the largest number of ranks on one host
 * @param channels number of channels of the plan
 * @param treeDepth number of edges between the root of a tree and its deepest rank in the plan
 * @param ring the channels for rings
 * @param tree the channels for trees
 * @param minCapability the lowest compute capability times ten, 0 if unknown
 * @param maxCapability the highest compute capability times ten
 * @param amdProcessors whether any host has AMD processors, whose cost of passing data to the network differs from
 *     Intel's
 * @param slots payload bytes of one slot for each protocol
 * @param switchGBps bandwidth of each GPU's links to a switch between all GPUs in each direction, in GB/s; 0 if no
 *     switch reduces
 * @param peers the bandwidth between each pair of GPUs of one host
 */
public record GpuShape(
        int ranks,
        int hosts,
        int localRanks,
        int channels,
        int treeDepth,
        GraphSummary ring,
        GraphSummary tree,
        int minCapability,
        int maxCapability,
        boolean amdProcessors,
        CommunicatorShape.SlotBytes slots,
        double switchGBps,
        PeerRates peers) {

    public GpuShape {
        Objects.requireNonNull(ring, "ring");
        Objects.requireNonNull(tree, "tree");
        Objects.requireNonNull(slots, "slots");
        Objects.requireNonNull(peers, "peers");
        if (ranks < 1 || hosts < 1 || hosts > ranks || localRanks < 1 || localRanks > ranks - hosts + 1) {
            throw new IllegalArgumentException("ranks=" + ranks + " hosts=" + hosts + " localRanks=" + localRanks
                    + ": expected 1 <= hosts <= ranks and 1 <= localRanks <= ranks - hosts + 1");
        }
        if (channels < 1 || treeDepth < 0 || minCapability < 0 || maxCapability < minCapability) {
            throw new IllegalArgumentException("channels=" + channels + " treeDepth=" + treeDepth + " minCapability="
                    + minCapability + " maxCapability=" + maxCapability
                    + ": expected at least 1 channel, depth and capabilities from 0 up, the lower capability first");
        }
    }

    /**
     * Returns the number of found channels that the plan uses. Repeated channels do not count, because they share the
     * links of those that they repeat.
     *
     * @param graph {@link #ring} or {@link #tree}
     */
    public int usable(GraphSummary graph) {
        return Math.min(graph.channels(), channels);
    }

    /** Returns this shape with another number of channels. */
    public GpuShape withChannels(int number) {
        return with(number, ring, tree, switchGBps, peers);
    }

    /**
     * Returns this shape for GPUs that cannot access each other's memory inside a host, so that data goes through host
     * memory.
     *
     * @param gbps bandwidth of one GPU's link to its host in each direction, in GB/s
     */
    public GpuShape throughHost(double gbps) {
        double link = Math.min(gbps, peers.host());
        return with(channels, ring.throughHost(link), tree.throughHost(link), 0, peers.throughHost(localRanks, link));
    }

    private GpuShape with(int number, GraphSummary rings, GraphSummary trees, double switched, PeerRates rates) {
        return new GpuShape(
                ranks,
                hosts,
                localRanks,
                number,
                treeDepth,
                rings,
                trees,
                minCapability,
                maxCapability,
                amdProcessors,
                slots,
                switched,
                rates);
    }

    /** Returns true if a switch between the GPUs of all ranks can reduce. */
    public boolean hasSwitch() {
        return oneHost() && ranks > 1 && switchGBps > 0;
    }

    /** Returns true if all ranks are on one host. */
    public boolean oneHost() {
        return hosts == 1;
    }
}
