package io.jccl.search;

import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Compares JCCL's channels with NCCL's on one host, with or without networks. All figures are GB/s of all channels
 * together. The figures of trees count the exchange with other hosts if there are any.
 *
 * @param ranks the number of ranks of the host
 * @param ncclRanks the number of ranks that NCCL's channels visit
 * @param ring JCCL's rings of all ranks
 * @param part JCCL's rings of only the ranks that NCCL's channels visit; equal to {@code ring} if these are all ranks
 * @param charged {@code ring} if links were charged by {@link NcclCharges}
 * @param bound the smallest cut over all links
 * @param reachable the smallest cut over the links that some path uses
 * @param nvLinkOnly whether ranks exchange data by NVLink alone
 */
record ReferenceRow(
        String host,
        boolean networks,
        int ranks,
        int ncclRanks,
        double ncclRing,
        double ring,
        double part,
        double charged,
        double bound,
        double reachable,
        boolean nvLinkOnly,
        double ncclTree,
        double tree) {

    /** Bandwidth that NCCL assumes when its search fails. */
    static final double TOKEN_GBPS = 0.1;

    static final double ROUNDING = 1e-9;

    static final List<String> HEADER = List.of(
            "| host | hosts | NCCL rings | JCCL rings | ratio | bound | why | NCCL trees | JCCL trees |",
            "|---|---|---:|---:|---:|---:|---|---:|---:|");

    /** Searches a host. Returns empty if networks are asked for and the host has none. */
    static Optional<ReferenceRow> of(ReferenceHost host, boolean networks) {
        if (networks && !host.hasNetworks()) {
            return Optional.empty();
        }
        ReferenceHost.Found nccl = host.nccl(networks, "ring");
        NodePaths paths = host.paths(networks);
        SearchOptions options = SearchOptions.forGpus(paths.topology(), networks);
        ChannelGraph ring = search(paths, options, host.name());
        ChannelGraph tree = new ChannelSearch(paths, options).searchTree(ring);
        ChannelChecker.check(paths, tree, host.name());
        int ranks = paths.topology().endpoints().size();
        double part = nccl.ranks().size() == ranks
                ? ring.interBandwidthGBps()
                : search(host.pathsAmong(nccl.ranks(), networks), options, host.name() + " in part")
                        .interBandwidthGBps();
        return Optional.of(new ReferenceRow(
                host.name(),
                networks,
                ranks,
                nccl.ranks().size(),
                nccl.total(),
                ring.interBandwidthGBps(),
                part,
                NcclCharges.carried(paths, ring),
                CutBound.ofRings(paths.topology(), networks),
                reachable(paths, networks),
                ring.typeIntra().compareTo(PathType.NVB) <= 0,
                host.nccl(networks, "tree").total(),
                tree.interBandwidthGBps()));
    }

    private static ChannelGraph search(NodePaths paths, SearchOptions options, String what) {
        ChannelGraph ring = new ChannelSearch(paths, options).search(Pattern.RING);
        ChannelChecker.check(paths, ring, what);
        return ring;
    }

    private static double reachable(NodePaths paths, boolean networks) {
        Topology topology = paths.topology();
        Capacities capacities = new Capacities(topology);
        List<Integer> nets = networks ? topology.indexesOf(NodeType.NET) : List.of();
        Traffic rings = new Traffic(paths, capacities, Pattern.RING, topology.endpoints(), nets, false, node -> false);
        return CutBound.of(topology, capacities, rings, new StepBudget(Long.MAX_VALUE));
    }

    /** Returns true if NCCL found nothing. */
    boolean token() {
        return ncclRing <= TOKEN_GBPS * (1 + ROUNDING);
    }

    /** Returns true if NCCL split the host, so that its figure is for fewer ranks. */
    boolean isSplit() {
        return ncclRanks < ranks;
    }

    /** Returns true if there is no link to cross, because the host has one GPU and no network. */
    boolean alone() {
        return Double.isInfinite(bound);
    }

    double ratio() {
        return ring / ncclRing;
    }

    /** Explains why JCCL's figure differs from NCCL's or is below the bound. */
    String why() {
        if (alone()) {
            return "one GPU: no link to cross";
        }
        if (isSplit()) {
            String ofPart = "NCCL: " + ncclRanks + " of " + ranks + " GPUs; JCCL for these: " + number(part);
            return ring < ncclRing * (1 - ROUNDING) ? ofPart + "; all: the cut between sockets" : ofPart;
        }
        if (token()) {
            return "NCCL finds nothing";
        }
        if (ratio() > 1 + ROUNDING) {
            if (charged > ring * (1 - ROUNDING)) {
                return "between NCCL's speeds";
            }
            return "by NCCL's charges: " + number(charged);
        }
        return ring < bound * (1 - ROUNDING) ? "bound includes PCI next to NVLink" : "both at the bound";
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "| %s | %s | %s | %s | %s | %s | %s | %s | %s |",
                host,
                networks ? "several" : "one",
                number(ncclRing),
                number(ring),
                alone() || isSplit() ? "" : String.format(Locale.ROOT, "%.3f", ratio()),
                number(bound),
                why(),
                number(ncclTree),
                number(tree));
    }

    private static String number(double gbps) {
        if (Double.isInfinite(gbps)) {
            return "none";
        }
        String text = String.format(Locale.ROOT, gbps < 100 ? "%.3f" : "%.1f", gbps);
        return text.replaceFirst("\\.?0+$", "");
    }
}
