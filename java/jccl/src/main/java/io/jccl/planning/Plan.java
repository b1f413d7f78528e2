package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.search.Rail;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The channels of a communicator: for each channel one ring through all ranks and one tree over all ranks.
 *
 * <p>The ring of a channel visits the hosts one after the other, and inside each host follows an order found there. The
 * ring enters a host by the rail on which it left the previous host, if the host has such a device. The tree of a
 * channel is a chain inside each host. Between hosts, even channels follow the first tree of {@link DoubleBinaryTree}
 * and odd channels the second, so that two neighbouring channels load the hosts evenly.
 *
 * <p>Immutable and safe to share. Memory grows with ranks times channels.
 */
public final class Plan {

    private final int size;
    private final List<PlannedHost> hosts;
    private final int[] hostOfRank;
    private final boolean gpu;
    private final Alignment alignment;
    private final List<RankChannels> found;
    private final int[][] ringChoice;
    private final int[][] treeChoice;
    private final int[][] rings;
    private final TreeOfRanks[] trees;

    Plan(
            List<PlannedHost> hosts,
            List<RankChannels> found,
            int[] hostOfRank,
            Alignment alignment,
            int[][] ringChoice,
            int[][] treeChoice,
            int[][] rings,
            TreeOfRanks[] trees) {
        this.size = hostOfRank.length;
        this.hosts = List.copyOf(hosts);
        this.hostOfRank = hostOfRank;
        this.gpu = Alignment.onGpus(found);
        this.alignment = alignment;
        this.found = List.copyOf(found);
        this.ringChoice = ringChoice;
        this.treeChoice = treeChoice;
        this.rings = rings;
        this.trees = trees;
    }

    /**
     * Builds the plan from the channels of all ranks.
     *
     * @param ranks one entry per rank, in any order; the same list on every rank
     * @param options the same on every rank
     * @throws IllegalArgumentException if a rank is missing or given twice, or an order is not a permutation of the
     *     ranks of its host
     */
    public static Plan build(List<RankChannels> ranks, PlanOptions options) {
        return new PlanBuilder(ranks, options).build();
    }

    /** Returns the number of ranks. */
    public int size() {
        return size;
    }

    /** Returns the number of channels. */
    public int channels() {
        return rings.length;
    }

    /** Returns true if the memory and the work of every rank are on a GPU. */
    public boolean gpu() {
        return gpu;
    }

    /** Returns the common properties of the rings of all hosts. */
    public GraphSummary ringGraph() {
        return alignment.rings();
    }

    /**
     * Returns the common properties of the trees of all hosts. Their shape is the one that puts the most load on one
     * rank.
     */
    public GraphSummary treeGraph() {
        return alignment.trees();
    }

    /**
     * Returns the network devices by which the ring of a channel enters a host and leaves it; empty if they are
     * unknown.
     */
    public Optional<Rail> ringRail(int channel, int host) {
        return rail(found.get(host).rings(), ringChoice[host], checkChannel(channel));
    }

    /**
     * Returns the network devices by which the tree of a channel enters a host and leaves it; empty if they are
     * unknown.
     */
    public Optional<Rail> treeRail(int channel, int host) {
        return rail(found.get(host).trees(), treeChoice[host], treeOfChannel(checkChannel(channel), hosts.size()));
    }

    private static Optional<Rail> rail(ChannelGraph channels, int[] choice, int channel) {
        return channels.rails().isEmpty()
                ? Optional.empty()
                : Optional.of(channels.rails().get(choice[channel % choice.length]));
    }

    /**
     * Returns the number of the found tree that a channel uses. With several hosts, two neighbouring channels use the
     * same found tree, because they follow different trees over the hosts: together they load the devices of the found
     * tree evenly.
     */
    static int treeOfChannel(int channel, int hosts) {
        return hosts > 1 ? channel / 2 : channel;
    }

    /** Returns the hosts, numbered by their lowest rank. */
    public List<PlannedHost> hosts() {
        return hosts;
    }

    /** Returns the host on which a rank runs. */
    public PlannedHost hostOf(int rank) {
        return hosts.get(hostOfRank[checkRank(rank)]);
    }

    /** Returns true if two ranks are on the same host. */
    public boolean sameHost(int rank, int other) {
        return hostOfRank[checkRank(rank)] == hostOfRank[checkRank(other)];
    }

    /**
     * Returns a copy of the ring of a channel: all ranks in the order in which data travels; the last sends to the
     * first.
     */
    public int[] ring(int channel) {
        return rings[checkChannel(channel)].clone();
    }

    /** Returns the neighbours of a rank in the tree of a channel. */
    public TreeLinks tree(int channel, int rank) {
        return trees[checkChannel(channel)].links(checkRank(rank));
    }

    /** Returns the parent of a rank in the tree of a channel, or -1 at the root. */
    public int treeParent(int channel, int rank) {
        return trees[checkChannel(channel)].parent(checkRank(rank));
    }

    /**
     * Returns the ranks of a host in the order of the chain that leads to a network that reduces, the leader first.
     * Channels use different chains if enough were found. The chains are those of the host's trees, unless separate
     * chains were found; separate chains are sorted by the rails of their devices.
     */
    public List<Integer> chain(int channel, int host) {
        Optional<ChannelGraph> chains = found.get(host).chains();
        if (chains.isPresent()) {
            List<Rail> rails = chains.get().rails();
            int[] byRail = IntStream.range(0, rails.size())
                    .boxed()
                    .sorted(Comparator.comparingInt(one -> rails.get(one).out()))
                    .mapToInt(one -> one)
                    .toArray();
            return chains.get().orders().get(byRail[channel % byRail.length]);
        }
        List<List<Integer>> trees = found.get(host).trees().orders();
        int[] choice = treeChoice[host];
        return trees.isEmpty() ? hosts.get(host).ranks() : trees.get(choice[channel % choice.length]);
    }

    /**
     * Returns the neighbours of a rank in a tree over the ranks of its host. The ranks fill the levels of this tree
     * from the top, in the order of the {@link #chain}.
     */
    public TreeLinks hostTree(int channel, int rank) {
        List<Integer> chain = chain(channel, hostOf(rank).index());
        int place = chain.indexOf(rank);
        int below = Math.min(GraphSummary.MAX_TREE_CHILDREN * place + 1, chain.size());
        int up = place == 0 ? -1 : chain.get((place - 1) / GraphSummary.MAX_TREE_CHILDREN);
        return new TreeLinks(up, chain.subList(below, Math.min(below + GraphSummary.MAX_TREE_CHILDREN, chain.size())));
    }

    /** Returns the largest number of edges between the root and a rank in the tree of a channel. */
    public int treeDepth(int channel) {
        return trees[checkChannel(channel)].depth();
    }

    /** Returns the number of hops of a ring that lead from one host to another; 0 on one host. */
    public int hostCrossings() {
        return hosts.size() == 1 ? 0 : hosts.size();
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
