package io.jccl.plan;

import java.util.List;

/**
 * The channels of a communicator: for each channel one ring through all ranks and one tree over all ranks.
 *
 * <p>The ring of a channel visits the machines one after the other, and inside each follows the order found there. The
 * tree of a channel is a chain inside each machine; between machines, even channels follow the first tree of
 * {@link DoubleBinaryTree} and odd channels the second, so that two neighbouring channels load the machines evenly.
 *
 * <p>Immutable, and safe to share. Memory grows with ranks times channels.
 */
public final class Plan {

    private final int size;
    private final List<Machine> machines;
    private final int[] machineOfRank;
    private final int[][] rings;
    private final TreeOfRanks[] trees;

    Plan(List<Machine> machines, int[] machineOfRank, int[][] rings, TreeOfRanks[] trees) {
        this.size = machineOfRank.length;
        this.machines = List.copyOf(machines);
        this.machineOfRank = machineOfRank;
        this.rings = rings;
        this.trees = trees;
    }

    /**
     * Builds the plan from what all ranks brought.
     *
     * @param ranks one entry per rank, in any order; the same list on every rank
     * @param options the same on every rank
     * @throws IllegalArgumentException if a rank is missing or given twice, or an order is not a permutation of the
     *     ranks of its machine
     */
    public static Plan build(List<RankChannels> ranks, PlanOptions options) {
        return new PlanBuilder(ranks, options).build();
    }

    /** The number of ranks. */
    public int size() {
        return size;
    }

    /** The number of channels. */
    public int channels() {
        return rings.length;
    }

    /** The machines, numbered by their lowest rank. */
    public List<Machine> machines() {
        return machines;
    }

    /** The machine that a rank runs on. */
    public Machine machineOf(int rank) {
        return machines.get(machineOfRank[checkRank(rank)]);
    }

    /** Whether two ranks are on the same machine. */
    public boolean sameMachine(int rank, int other) {
        return machineOfRank[checkRank(rank)] == machineOfRank[checkRank(other)];
    }

    /** A copy of the ring of a channel: all ranks in the order in which data travels, the last sends to the first. */
    public int[] ring(int channel) {
        return rings[checkChannel(channel)].clone();
    }

    /** The neighbours of a rank in the tree of a channel. */
    public TreeLinks tree(int channel, int rank) {
        return trees[checkChannel(channel)].links(checkRank(rank));
    }

    /** The most edges between the root and a rank in the tree of a channel. */
    public int treeDepth(int channel) {
        return trees[checkChannel(channel)].depth();
    }

    /** How many of the ring's steps cross from one machine to another; 0 on one machine. */
    public int machineCrossings() {
        return machines.size() == 1 ? 0 : machines.size();
    }

    private int checkRank(int rank) {
        if (rank < 0 || rank >= size) {
            throw new IndexOutOfBoundsException("rank=" + rank + ": expected 0 to " + (size - 1));
        }
        return rank;
    }

    private int checkChannel(int channel) {
        if (channel < 0 || channel >= rings.length) {
            throw new IndexOutOfBoundsException("channel=" + channel + ": expected 0 to " + (rings.length - 1));
        }
        return channel;
    }
}
