package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.testing.Seeds;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.SharedRanks;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests channels over GPUs that several ranks share. */
@Timeout(300)
class SharedGpusSearchTest {

    private static final long STEPS = 20_000;
    private static final double ROUNDING = 1e-9;
    private static final String ONE_GPU = "<system version='1'><cpu numaid='0' arch='x86_64'>"
            + "<pci busid='0000:11:00.0' class='0x030200' link_speed='32.0 GT/s PCIe' link_width='16'>"
            + "<gpu dev='0' sm='90' rank='0' gdr='1'/></pci>"
            + "<pci busid='0000:12:00.0' class='0x020700' link_speed='32.0 GT/s PCIe' link_width='16'>"
            + "<nic><net name='net0' dev='0' speed='200000'/></nic></pci></cpu></system>";

    /** An H100 copies 1675 GB/s, which eight hops of a closed ring share, or seven hops of a chain. */
    @Test
    void eightRanksOnTheOnlyGpuShareItsMemory() {
        NodePaths paths = paths(SharedRanks.on(ONE_GPU, SharedRanks.ascending(8)), false);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), false));
        ChannelGraph ring = search.search(Pattern.RING);
        assertThat(ring.orders()).containsOnly(List.of(0, 1, 2, 3, 4, 5, 6, 7));
        assertThat(ring.typeIntra()).isEqualTo(PathType.LOC);
        assertThat(ring.totalBandwidthGBps()).isCloseTo(1675.0 / 8, within(1e-6));
        assertThat(ring.channels()).isEqualTo(6); // the smallest even number of channels of at most 50 GB/s
        ChannelGraph tree = search.searchTree(ring);
        assertThat(tree.totalBandwidthGBps()).isCloseTo(1675.0 / 7, within(1e-6));
        ChannelChecker.check(paths, ring, "one GPU");
        ChannelChecker.check(paths, tree, "one GPU");
    }

    @Test
    void amongHostsOfOneGpuTheNetworkIsTheBottleneck() {
        NodePaths paths = paths(SharedRanks.on(ONE_GPU, SharedRanks.ascending(8)), true);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        assertThat(ring.interBandwidthGBps()).isCloseTo(25, within(1e-6));
        assertThat(tree.interBandwidthGBps()).isCloseTo(25, within(1e-6));
        assertThat(tree.totalBandwidthGBps()).isCloseTo(1675.0 / 7, within(1e-6));
        ChannelChecker.check(paths, ring, "one GPU");
        ChannelChecker.check(paths, tree, "one GPU");
    }

    /**
     * The GPUs of {@code rails} copy 1675 GB/s and send 370.8. Two ranks on each GPU change nothing. Three ranks
     * forward twice inside a GPU. From six ranks on, the memory is the bottleneck. If the links are the bottleneck,
     * shared GPUs carry as much as GPUs with one rank each.
     */
    @ParameterizedTest
    @CsvSource({
        "rails, 2 2 2 2 2 2 2 2, 370.8, 384",
        "rails, 3 1 1 1 1 1 1 1, 370.8, 384",
        "rails, 1 1 1 1 1 1 1 6, 335, 335",
        "rails, 8 8 8 8 8 8 8 8, 239.2857, 239.2857",
        "two-sockets, 4 4 4 4, 16, 24",
        "two-sockets, 1 2 3 4, 16, 24",
        "cube-mesh, 2 2 2 2 2 2 2 2, 120, 48",
        "cube-mesh, 5 1 1 1 1 1 1 1, 112.5, 48",
        "shared-port, 4 4, 80, 12.5",
    })
    void ringsHaveTheBandwidthThatLinksAndMemoryAllow(String host, String counts, double alone, double several) {
        int[] ranks = Stream.of(counts.split(" ")).mapToInt(Integer::parseInt).toArray();
        String xml = SharedRanks.on(text(host), SharedRanks.ascending(ranks));
        for (boolean networks : new boolean[] {false, true}) {
            NodePaths paths = paths(xml, networks);
            ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), networks));
            ChannelGraph ring = search.search(Pattern.RING);
            ChannelGraph tree = search.searchTree(ring);
            assertThat(ring.interBandwidthGBps()).isCloseTo(networks ? several : alone, within(0.001));
            ChannelChecker.check(paths, ring, host);
            ChannelChecker.check(paths, tree, host);
        }
    }

    @Test
    void ringsOfOppositeDirectionsAreOppositeInsideGpusToo() {
        String xml = SharedRanks.on(text("two-sockets"), SharedRanks.ascending(2, 1, 3, 1));
        NodePaths paths = paths(xml, true);
        ChannelGraph ring =
                new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true)).search(Pattern.RING);
        assertThat(ring.orders()).containsExactly(List.of(0, 1, 2, 3, 4, 5, 6), List.of(6, 5, 4, 3, 2, 1, 0));
    }

    @Test
    void randomHostsWithSharedGpusCarryTheirChannels() {
        for (int seed = 0; seed < Seeds.of(500); seed++) {
            search(RandomHost.description(seed, 8), seed, STEPS);
        }
        for (int seed = 0; seed < Seeds.of(50); seed++) {
            search(RandomHost.description(seed, 30), seed, STEPS);
        }
        for (int seed = 0; seed < Seeds.of(150); seed++) {
            search(RandomHost.scarceDescription(seed, 14), seed, 0);
        }
    }

    @Test
    void aRepeatedSearchFindsTheSame() {
        for (int seed = 0; seed < Seeds.of(100); seed++) {
            String xml = RandomHost.description(seed, 12);
            assertThat(search(xml, seed, STEPS)).isEqualTo(search(xml, seed, STEPS));
        }
    }

    /**
     * The channels equal those of a host with only the lowest rank on each GPU, unless memory limits their bandwidth.
     */
    @Test
    void channelsOverSharedGpusAreThoseOfOneRankPerGpu() {
        for (int seed = 0; seed < Seeds.of(150); seed++) {
            String xml = RandomHost.description(seed, 8);
            List<List<Integer>> ranks = SharedRanks.random(xml, 4, seed);
            List<List<Integer>> lowest = ranks.stream()
                    .map(here -> List.of(here.stream().min(Integer::compare).orElseThrow()))
                    .toList();
            boolean networks = seed % 2 == 1;
            NodePaths shared = paths(SharedRanks.on(xml, ranks), networks);
            NodePaths alone = paths(SharedRanks.on(xml, lowest), networks);
            ChannelGraph of = rings(shared, networks);
            ChannelGraph ofLowest = rings(alone, networks);
            double max = SharedGpus.of(shared.topology()).maxGBps(of.rails().isEmpty());
            String what = "seed=" + seed + " max=" + max;
            double links = Math.min(LinkSpeeds.LOCAL_GBPS, ofLowest.interBandwidthGBps());
            assertThat(of.interBandwidthGBps()).as(what).isCloseTo(Math.min(links, max), within(ROUNDING * links));
            if (links < max) {
                assertThat(withLowestOnly(of, lowest)).as(what).isEqualTo(ofLowest.orders());
                assertThat(of.rails()).as(what).isEqualTo(ofLowest.rails());
            }
        }
    }

    /**
     * Every rank on a GPU has the paths of a rank that is alone there. Paths between ranks of one GPU use only its
     * memory.
     */
    @Test
    void ranksOnAGpuHaveItsPaths() {
        for (int seed = 0; seed < Seeds.of(300); seed++) {
            String xml = RandomHost.description(seed, 8);
            Topology topology =
                    GraphBuilder.build(TopologyXmlReader.read(SharedRanks.on(xml, SharedRanks.random(xml, 3, seed))));
            SharedGpus gpus = SharedGpus.of(topology);
            NodePaths all = NodePaths.compute(topology);
            NodePaths distinct = NodePaths.compute(gpus.distinct());
            for (int from : distinct.topology().endpoints()) {
                for (int to : distinct.topology().endpoints()) {
                    NodePath alone = distinct.path(from, to);
                    NodePath path = all.path(nodeOfSameName(distinct, from, all), nodeOfSameName(distinct, to, all));
                    assertThat(List.of(path.type(), path.bandwidthGBps()))
                            .as("seed=" + seed)
                            .isEqualTo(List.of(alone.type(), alone.bandwidthGBps()));
                }
            }
            gpus.ranks()
                    .values()
                    .forEach(ranks -> ranks.forEach(one -> ranks.forEach(other -> {
                        NodePath path = all.path(
                                topology.find("GPU/" + one).orElseThrow(),
                                topology.find("GPU/" + other).orElseThrow());
                        assertThat(path.type()).isEqualTo(PathType.LOC);
                        assertThat(path.hops()).isEqualTo(one.equals(other) ? 0 : 1);
                    })));
        }
    }

    private static int nodeOfSameName(NodePaths paths, int node, NodePaths others) {
        return others.topology().find(paths.topology().node(node).name()).orElseThrow();
    }

    private static List<List<Integer>> withLowestOnly(ChannelGraph graph, List<List<Integer>> lowest) {
        List<Integer> kept = lowest.stream().flatMap(List::stream).toList();
        return graph.orders().stream()
                .map(order -> order.stream().filter(kept::contains).toList())
                .toList();
    }

    private static ChannelGraph rings(NodePaths paths, boolean networks) {
        SearchOptions options = SearchOptions.forGpus(paths.topology(), networks);
        return new ChannelSearch(paths, options).search(Pattern.RING);
    }

    private static List<ChannelGraph> search(String xml, int seed, long steps) {
        String shared = SharedRanks.on(xml, SharedRanks.random(xml, 5, seed));
        List<ChannelGraph> found = new ArrayList<>();
        for (boolean networks : new boolean[] {false, true}) {
            NodePaths paths = paths(shared, networks);
            String what = "seed=" + seed + " networks=" + networks;
            SearchOptions options =
                    SearchOptions.forGpus(paths.topology(), networks).withSteps(steps);
            ChannelSearch search = new ChannelSearch(paths, options);
            ChannelGraph ring = search.search(Pattern.RING);
            assertThat(search.steps()).as(what).isLessThanOrEqualTo(search.maxSteps());
            ChannelGraph tree = search.searchTree(ring);
            ChannelChecker.check(paths, ring, what);
            ChannelChecker.check(paths, tree, what);
            found.add(ring);
            found.add(tree);
        }
        return found;
    }

    private static NodePaths paths(String xml, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(xml));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
    }

    private static String text(String host) {
        try (InputStream in = SharedGpusSearchTest.class.getResourceAsStream(host + ".xml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
