package io.jccl.plan;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Rail;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The channels of a communicator: for each channel one ring through all ranks and one tree over all ranks.
 *
 * <p>The ring of a channel visits the hosts one after the other, and inside each follows an order found there: it comes
 * into a host by the rail on which it left the one before, wherever that has such a device. The tree of a channel is a
 * chain inside each host; between hosts, even channels follow the first tree of {@link DoubleBinaryTree} and odd
 * channels the second, so that two neighbouring channels load the hosts evenly.
 *
 * <p>Immutable, and safe to share. Memory grows with ranks times channels.
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
     * Builds the plan from what all ranks brought.
     *
     * @param ranks one entry per rank, in any order; the same list on every rank
     * @param options the same on every rank
     * @throws IllegalArgumentException if a rank is missing or given twice, or an order is not a permutation of the
     *     ranks of its host
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

    /** Whether the memory and the work of every rank are on a GPU. */
    public boolean gpu() {
        return gpu;
    }

    /** What the rings of all hosts have in common. */
    public GraphSummary ringGraph() {
        return alignment.rings();
    }

    /** What the trees of all hosts have in common; of their shapes the one that puts the most on one rank. */
    public GraphSummary treeGraph() {
        return alignment.trees();
    }

    /** The network devices by which the ring of a channel comes into a host and leaves it, where they are known. */
    public Optional<Rail> ringRail(int channel, int host) {
        return rail(found.get(host).rings(), ringChoice[host], checkChannel(channel));
    }

    /** The network device by which the tree of a channel comes into a host and leaves it, where it is known. */
    public Optional<Rail> treeRail(int channel, int host) {
        return rail(found.get(host).trees(), treeChoice[host], treeOfChannel(checkChannel(channel), hosts.size()));
    }

    private static Optional<Rail> rail(ChannelGraph channels, int[] choice, int channel) {
        return channels.rails().isEmpty()
                ? Optional.empty()
                : Optional.of(channels.rails().get(choice[channel % choice.length]));
    }

    /** Both trees over the hosts use one found tree, so that together they load its devices evenly. */
    static int treeOfChannel(int channel, int hosts) {
        return hosts > 1 ? channel / 2 : channel;
    }

    /** The hosts, numbered by their lowest rank. */
    public List<PlannedHost> hosts() {
        return hosts;
    }

    /** The host that a rank runs on. */
    public PlannedHost hostOf(int rank) {
        return hosts.get(hostOfRank[checkRank(rank)]);
    }

    /** Whether two ranks are on the same host. */
    public boolean sameHost(int rank, int other) {
        return hostOfRank[checkRank(rank)] == hostOfRank[checkRank(other)];
    }

    /** A copy of the ring of a channel: all ranks in the order in which data travels, the last sends to the first. */
    public int[] ring(int channel) {
        return rings[checkChannel(channel)].clone();
    }

    /** The neighbours of a rank in the tree of a channel. */
    public TreeLinks tree(int channel, int rank) {
        return trees[checkChannel(channel)].links(checkRank(rank));
    }

    /** The parent of a rank in the tree of a channel, or -1 at the root. */
    public int treeParent(int channel, int rank) {
        return trees[checkChannel(channel)].parent(checkRank(rank));
    }

    /**
     * The ranks of a host in the order in which a chain leads through them to a network that reduces, the leader first. Each
     * channel has a chain of its own, as far as so many were found: those of trees, unless there are others, which go by the rails
     * of their devices.
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

    /** A rank's place in the tree whose levels the ranks of such a chain fill one after the other. */
    public TreeLinks hostTree(int channel, int rank) {
        List<Integer> chain = chain(channel, hostOf(rank).index());
        int place = chain.indexOf(rank);
        int below = Math.min(TreeLinks.MAX_CHILDREN * place + 1, chain.size());
        int up = place == 0 ? -1 : chain.get((place - 1) / TreeLinks.MAX_CHILDREN);
        return new TreeLinks(up, chain.subList(below, Math.min(below + TreeLinks.MAX_CHILDREN, chain.size())));
    }

    /** The most edges between the root and a rank in the tree of a channel. */
    public int treeDepth(int channel) {
        return trees[checkChannel(channel)].depth();
    }

    /** How many of the ring's steps cross from one host to another; 0 on one host. */
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
