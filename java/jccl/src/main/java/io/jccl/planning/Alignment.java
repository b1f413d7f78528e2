package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.List;

/**
 * Determines how many channels run through all hosts, and how much each of them carries.
 *
 * <p>Every channel of the plan passes through every host, so the host with the least bandwidth limits it. If hosts
 * found different numbers of channels, a host with fewer repeats its channels, each copy with a share of the bandwidth.
 * A host that found more omits some. Chooses the number of channels with which rings and trees together carry the most;
 * of several such numbers, the smallest. Ranks on host memory get at most as many channels as the host with the fewest
 * found, because each channel occupies a core.
 *
 * <p>The plan then has one or several channels of its own for each of these distinct channels. With several hosts the
 * plan has two, so that both trees of {@link DoubleBinaryTree} use the distinct channel. On GPUs the plan has two, and
 * more if one thread block would have to move more than it can, up to {@link Planner#MAX_DEVICE_CHANNELS} together.
 *
 * @param rings the common properties of the rings of all hosts
 * @param trees the common properties of the trees of all hosts
 * @param channels the number of channels of the plan
 */
record Alignment(GraphSummary rings, GraphSummary trees, int channels) {

    /** Largest number of channels that a host with fewer repeats for hosts with more. */
    private static final int REPEATED_LIMIT = 16;

    /**
     * Largest number of channels between ranks on host memory, because each has a thread. The native engine accepts no
     * more.
     */
    private static final int HOST_LIMIT = 32;

    /** Smallest difference between doubles that is not a rounding error. */
    private static final double ROUNDING = 1e-9;

    /**
     * Aligns the channels of all hosts.
     *
     * @param hosts the channels found on each host
     * @param alone whether the communicator has only one rank
     */
    static Alignment of(List<RankChannels> hosts, boolean alone, PlanOptions options) {
        boolean gpu = onGpus(hosts);
        List<ChannelGraph> foundRings = new ArrayList<>();
        List<ChannelGraph> foundTrees = new ArrayList<>();
        for (RankChannels host : hosts) {
            foundRings.add(host.rings());
            foundTrees.add(host.trees());
        }
        int found = alone ? 1 : distinct(foundRings, foundTrees, gpu, options);
        GraphSummary rings = agree(foundRings, found);
        GraphSummary trees = agree(foundTrees, found);
        int copies = alone ? 1 : copies(hosts.size() > 1, gpu, rings, options.blockGBps());
        int most = gpu ? options.maxChannels() : Math.min(options.maxChannels(), HOST_LIMIT);
        int channels = Math.min(most, Math.max(options.minChannels(), found * copies));
        return new Alignment(rings, trees, channels);
    }

    /** Returns true if the endpoints of all hosts are GPUs. */
    static boolean onGpus(List<RankChannels> hosts) {
        for (RankChannels host : hosts) {
            if (!host.gpu()) {
                return false;
            }
        }
        return true;
    }

    private static int distinct(List<ChannelGraph> rings, List<ChannelGraph> trees, boolean gpu, PlanOptions options) {
        int maxFound =
                gpu ? Math.max(REPEATED_LIMIT, Math.max(maxChannels(rings), maxChannels(trees))) : minChannels(rings);
        int limit = Math.min(options.maxChannels(), maxFound);
        double bestRings = best(rings, limit);
        double bestTrees = best(trees, limit);
        int chosen = 1;
        double score = 0;
        for (int found = 1; found <= limit; found++) {
            double reached = total(rings, found) / bestRings + total(trees, found) / bestTrees;
            if (reached > score + ROUNDING) {
                chosen = found;
                score = reached;
            }
        }
        return chosen;
    }

    private static int maxChannels(List<ChannelGraph> hosts) {
        int max = 0;
        for (ChannelGraph channels : hosts) {
            max = Math.max(max, channels.channels());
        }
        return max;
    }

    private static int minChannels(List<ChannelGraph> hosts) {
        int min = Integer.MAX_VALUE;
        for (ChannelGraph channels : hosts) {
            min = Math.min(min, channels.channels());
        }
        return min;
    }

    private static double best(List<ChannelGraph> hosts, int limit) {
        double best = 0;
        for (int found = 1; found <= limit; found++) {
            best = Math.max(best, total(hosts, found));
        }
        return best;
    }

    private static double total(List<ChannelGraph> hosts, int found) {
        boolean networks = hosts.size() > 1;
        double min = Double.POSITIVE_INFINITY;
        for (ChannelGraph channels : hosts) {
            double each = networks ? Math.min(channels.bwIntra(), channels.bwInter()) : channels.bwIntra();
            min = Math.min(min, each / repeats(channels, found));
        }
        return found * min;
    }

    /** Returns how many times the most repeated channel of a host occurs. */
    private static int repeats(ChannelGraph channels, int found) {
        return (found + channels.channels() - 1) / channels.channels();
    }

    /**
     * Returns the common properties of all hosts' channels. If hosts have trees of different shapes, the result has the
     * shape that puts the most load on one rank: a chain if any host has chains, else a split tree if any host has
     * split trees.
     */
    private static GraphSummary agree(List<ChannelGraph> hosts, int found) {
        double bwIntra = Double.POSITIVE_INFINITY;
        double bwInter = Double.POSITIVE_INFINITY;
        PathType typeIntra = PathType.LOC;
        Pattern pattern = hosts.get(0).pattern();
        for (ChannelGraph channels : hosts) {
            bwIntra = Math.min(bwIntra, channels.bwIntra() / repeats(channels, found));
            bwInter = Math.min(bwInter, channels.bwInter() / repeats(channels, found));
            typeIntra = typeIntra.max(channels.typeIntra());
            pattern = channels.pattern().compareTo(pattern) < 0 ? channels.pattern() : pattern;
        }
        return new GraphSummary(pattern, found, bwIntra, hosts.size() > 1 ? bwInter : bwIntra, typeIntra);
    }

    private static int copies(boolean networks, boolean gpu, GraphSummary rings, double blockGBps) {
        int copies = networks || gpu ? 2 : 1;
        double each = rings.totalBandwidthGBps() / rings.channels();
        int step = networks ? 2 : 1; // between hosts both trees need a copy
        while (gpu && each / copies > blockGBps && rings.channels() * (copies + step) <= Planner.MAX_DEVICE_CHANNELS) {
            copies += step;
        }
        return copies;
    }
}
