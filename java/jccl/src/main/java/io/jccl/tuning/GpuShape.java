package io.jccl.tuning;

import io.jccl.plan.GraphSummary;
import io.jccl.plan.Plan;
import java.util.Objects;

/**
 * What the cost model needs to know of a communicator whose ranks own GPUs. Every rank must pass equal values: take
 * those agreed in the bootstrap, not this rank's own.
 *
 * @param ranks the number of ranks
 * @param hosts the number of hosts
 * @param localRanks the most ranks on one host
 * @param channels the plan's channels
 * @param treeDepth edges between the root of a tree and its deepest rank, as the plan counts them
 * @param ring the channels for rings
 * @param tree the channels for trees
 * @param minCapability the lowest compute capability times ten, 0 where not known
 * @param maxCapability the highest
 * @param amdProcessors whether any host has processors of AMD, which pass data to the network differently from Intel's
 * @param slots payload bytes that one slot holds per protocol
 * @param switchGBps what each GPU's links to a switch between all of them carry each way, in GB/s; 0 where none reduces
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
        double switchGBps) {

    /** Checks that the numbers fit each other. */
    public GpuShape {
        Objects.requireNonNull(ring, "ring");
        Objects.requireNonNull(tree, "tree");
        Objects.requireNonNull(slots, "slots");
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
     * The communicator of a plan over any hosts; all its ranks own GPUs.
     *
     * @param traits those of all hosts together
     */
    public static GpuShape of(Plan plan, HostTraits traits, CommunicatorShape.SlotBytes slots) {
        int localRanks = plan.hosts().stream()
                .mapToInt(host -> host.ranks().size())
                .max()
                .orElseThrow();
        return new GpuShape(
                plan.size(),
                plan.hosts().size(),
                localRanks,
                plan.channels(),
                plan.treeDepth(0),
                plan.ringGraph(),
                plan.treeGraph(),
                traits.minCapability(),
                traits.maxCapability(),
                traits.amdProcessors(),
                slots,
                traits.switchGBps());
    }

    /** The same with another number of channels. */
    public GpuShape withChannels(int number) {
        return with(number, ring, tree, switchGBps);
    }

    /**
     * The same where GPUs of one host do not reach each other's memory, and data goes through the host's.
     *
     * @param gbps what one GPU's link to its host carries each way, in GB/s
     */
    public GpuShape throughHost(double gbps) {
        return with(channels, ring.throughHost(gbps), tree.throughHost(gbps), 0);
    }

    /** The same where the channels that are used carry no more than so much together. */
    GpuShape carryingAtMost(double gbps) {
        return with(
                channels,
                ring.carryingAtMost(gbps / Math.min(ring.channels(), channels)),
                tree.carryingAtMost(gbps / Math.min(tree.channels(), channels)),
                switchGBps);
    }

    private GpuShape with(int number, GraphSummary rings, GraphSummary trees, double switched) {
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
                switched);
    }

    /** Whether a switch between the GPUs of all ranks can reduce. */
    public boolean hasSwitch() {
        return oneHost() && ranks > 1 && switchGBps > 0;
    }

    /** Whether all ranks are on one host. */
    public boolean oneHost() {
        return hosts == 1;
    }
}
