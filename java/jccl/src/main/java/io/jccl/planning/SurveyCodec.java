package io.jccl.planning;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.PeerRates;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import io.jccl.tuning.HostTraits;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Encodes the surveys of a rank: the survey of its host, followed by that of its GPUs if there is one.
 *
 * <pre>
 * survey │ u8 gpus │ gpus: survey
 *
 * survey:        f64 netGBps │ i32 cores │ u8 gpu │ i32 minCapability │ i32 maxCapability │ u8 amd │ f64 switchGBps │
 *                f64 allPairs │ f64 onePair │ f64 singlePair │ f64 hostLink │ rings │ trees │ u8 chains │ chains: chains
 * rings, trees, chains:
 *                u8 pattern │ f64 bwIntra │ f64 bwInter │ u8 typeIntra │ u8 typeInter │ u8 crossNic │ u8 withRails │
 *                u8 orders
 *                per order: i32 ranks, as many as the host has │ withRails: i32 in │ i32 out
 * </pre>
 *
 * <p>Only the lowest rank of a host sends orders, because the plan uses only these.
 */
public final class SurveyCodec {

    /**
     * The surveys that one rank sends.
     *
     * @param host the survey of its host
     * @param gpus the survey of its GPUs, if they can have their own plan
     */
    public record Found(MachineSurvey host, Optional<MachineSurvey> gpus) {}

    private SurveyCodec() {}

    /**
     * Writes the surveys of a rank.
     *
     * @param lowest whether it is the lowest rank of its host
     */
    public static byte[] encode(Found found, boolean lowest) {
        WireWriter out = new WireWriter();
        write(out, found.host(), lowest);
        out.flag(found.gpus().isPresent());
        if (found.gpus().isPresent()) {
            write(out, found.gpus().get(), lowest);
        }
        return out.toBytes();
    }

    private static void write(WireWriter out, MachineSurvey survey, boolean lowest) {
        HostTraits traits = survey.traits();
        out.f64(survey.netGBps()).i32(survey.cores()).flag(survey.channels().gpu());
        out.i32(traits.minCapability())
                .i32(traits.maxCapability())
                .flag(traits.amdProcessors())
                .f64(traits.switchGBps());
        PeerRates peers = traits.peers();
        out.f64(peers.all()).f64(peers.one()).f64(peers.single()).f64(peers.host());
        out.flag(traits.apart()).i32(traits.ranksPerDevice());
        ChannelGraph rings = survey.channels().rings();
        ChannelGraph trees = survey.channels().trees();
        write(out, lowest ? rings : rings.withoutOrders());
        write(out, lowest ? trees : trees.withoutOrders());
        Optional<ChannelGraph> chains = survey.channels().chains().filter(graph -> lowest);
        out.flag(chains.isPresent());
        chains.ifPresent(graph -> write(out, graph));
    }

    private static void write(WireWriter out, ChannelGraph graph) {
        boolean withRails = !graph.rails().isEmpty();
        out.u8(graph.pattern().ordinal()).f64(graph.bwIntra()).f64(graph.bwInter());
        out.u8(graph.typeIntra().ordinal()).u8(graph.typeInter().ordinal());
        out.flag(graph.crossNic()).flag(withRails).u8(graph.orders().size());
        for (int channel = 0; channel < graph.orders().size(); channel++) {
            for (int rank : graph.orders().get(channel)) {
                out.i32(rank);
            }
            if (withRails) {
                Rail rail = graph.rails().get(channel);
                out.i32(rail.in()).i32(rail.out());
            }
        }
    }

    /**
     * Reads what {@link #encode} wrote on rank {@code rank}, and checks it against what this rank knows about that
     * rank.
     *
     * @param ranks the ranks on the host of {@code rank}, ascending
     * @throws BootstrapException if the bytes are not a valid search result of that host
     */
    public static Found decode(int rank, String hostId, List<Integer> ranks, byte[] bytes) {
        try {
            WireReader in = new WireReader(bytes);
            MachineSurvey host = read(in, rank, hostId, ranks);
            Found found = new Found(host, in.flag() ? Optional.of(read(in, rank, hostId, ranks)) : Optional.empty());
            in.end();
            return found;
        } catch (WireException | IllegalArgumentException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length + ": sent channels that make no sense, "
                            + Causes.describe(e) + "; use the same JCCL version on all ranks",
                    e);
        }
    }

    private static MachineSurvey read(WireReader in, int rank, String hostId, List<Integer> ranks) {
        double netGBps = in.f64();
        int cores = in.i32();
        boolean gpu = in.flag();
        HostTraits traits = new HostTraits(
                in.i32(),
                in.i32(),
                in.flag(),
                in.f64(),
                new PeerRates(in.f64(), in.f64(), in.f64(), in.f64()),
                in.flag(),
                in.i32());
        boolean lowest = ranks.get(0) == rank;
        ChannelGraph rings = graph(in, ranks, lowest);
        ChannelGraph trees = graph(in, ranks, lowest);
        Optional<ChannelGraph> chains = in.flag() ? Optional.of(chains(in, ranks, lowest)) : Optional.empty();
        return new MachineSurvey(new RankChannels(rank, hostId, gpu, rings, trees, chains), traits, netGBps, cores);
    }

    private static ChannelGraph chains(WireReader in, List<Integer> ranks, boolean lowest) {
        ChannelGraph chains = graph(in, ranks, lowest);
        if (!lowest || chains.rails().isEmpty()) {
            throw new WireException("chains of orders=" + chains.orders().size() + " rails="
                    + chains.rails().size() + ": expected some of the lowest rank of a host, with their rails");
        }
        return chains;
    }

    private static ChannelGraph graph(WireReader in, List<Integer> ranks, boolean lowest) {
        Pattern pattern = in.constant(Pattern.class);
        double bwIntra = in.f64();
        double bwInter = in.f64();
        PathType typeIntra = in.constant(PathType.class);
        PathType typeInter = in.constant(PathType.class);
        boolean crossNic = in.flag();
        boolean withRails = in.flag();
        int count = in.u8();
        if (count > PlanOptions.CHANNEL_LIMIT || lowest == (count == 0) || withRails && count == 0) {
            throw new WireException("orders=" + count + ": expected "
                    + (lowest
                            ? "1 to " + PlanOptions.CHANNEL_LIMIT
                            : "none from a rank that is not its host's lowest"));
        }
        List<List<Integer>> orders = new ArrayList<>(count);
        List<Rail> rails = new ArrayList<>();
        for (int channel = 0; channel < count; channel++) {
            orders.add(order(in, ranks));
            if (withRails) {
                rails.add(new Rail(in.i32(), in.i32()));
            }
        }
        return new ChannelGraph(pattern, bwIntra, bwInter, typeIntra, typeInter, crossNic, orders, rails);
    }

    private static List<Integer> order(WireReader in, List<Integer> ranks) {
        Set<Integer> left = new HashSet<>(ranks);
        List<Integer> order = new ArrayList<>(ranks.size());
        for (int place = 0; place < ranks.size(); place++) {
            int rank = in.i32();
            if (!left.remove(rank)) {
                throw new WireException("order begins " + order + ", rank=" + rank
                        + ": expected each rank of its host once, left are " + left);
            }
            order.add(rank);
        }
        return order;
    }
}
