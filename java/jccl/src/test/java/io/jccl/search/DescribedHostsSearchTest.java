package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.search.SearchOptions.CrossNic;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the search on hosts of known kinds, for which the right result can be computed by hand. */
class DescribedHostsSearchTest {

    /**
     * Bandwidths of rings and trees, in GB/s. On the host {@code cube-mesh}, a GPU has six NVLinks of 20, and its PCI
     * switch has a link of 12 to a network card. On {@code rails}, a GPU has a card of 48 and 18 NVLinks of 20.6, of
     * which a chain of eight uses seven eighths on average. On {@code two-sockets}, the sockets share a link of 16 in
     * each direction, which a ring inside the host uses in both directions. With networks, a ring enters at one socket
     * and leaves at the other, and the GPUs' own links of 24 are the narrowest. On {@code shared-port}, the card has
     * three devices, two of which are one port; each port has 6.25.
     */
    @ParameterizedTest
    @CsvSource({
        "cube-mesh, false, 120, 120",
        "cube-mesh, true, 48, 48",
        "rails, false, 370.8, 423.771",
        "rails, true, 384, 384",
        "two-sockets, false, 16, 24",
        "two-sockets, true, 24, 24",
        "shared-port, false, 80, 160",
        "shared-port, true, 12.5, 12.5"
    })
    void usesTheWholeBandwidthOfTheLinks(String host, boolean networks, double rings, double trees) {
        NodePaths paths = paths(host, networks);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), networks));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        assertThat(ring.interBandwidthGBps()).isCloseTo(rings, within(0.001));
        assertThat(tree.interBandwidthGBps()).isCloseTo(trees, within(0.001));
        assertThat(tree.channels()).isEqualTo(ring.channels());
        ChannelChecker.check(paths, ring, host);
        ChannelChecker.check(paths, tree, host);
    }

    @Test
    void ringsThatCrossRailsComeInPairsOfOppositeDirections() {
        ChannelGraph ring = ring("two-sockets", CrossNic.IF_BETTER);
        assertThat(ring.crossNic()).isTrue();
        assertThat(ring.orders()).containsExactly(List.of(0, 1, 2, 3), List.of(3, 2, 1, 0));
        assertThat(ring.rails()).containsExactly(new Rail(0, 1), new Rail(1, 0));
    }

    @Test
    void ringsStayOnTheirRailIfCrossingIsForbidden() {
        ChannelGraph ring = ring("two-sockets", CrossNic.NEVER);
        assertThat(ring.crossNic()).isFalse();
        assertThat(ring.interBandwidthGBps()).isCloseTo(16, within(0.001));
        assertThat(ring("rails", CrossNic.NEVER).typeInter()).isEqualTo(PathType.PXN);
    }

    @Test
    void ringsStayOnTheirRailIfCrossingGainsNothing() {
        assertThat(ring("cube-mesh", CrossNic.IF_BETTER).crossNic()).isFalse();
        assertThat(ring("cube-mesh", CrossNic.ALWAYS).crossNic()).isTrue();
    }

    @Test
    void aChannelGetsNoMoreThanItCanUse() {
        NodePaths paths = paths("rails", false);
        SearchOptions narrow = new SearchOptions(1, 32, 20, false, CrossNic.NEVER, 100_000);
        ChannelGraph ring = new ChannelSearch(paths, narrow).search(Pattern.RING);
        assertThat(ring.bwIntra()).isLessThanOrEqualTo(20);
        assertThat(ring.totalBandwidthGBps()).isCloseTo(370.8, within(0.001));
        SearchOptions few = new SearchOptions(1, 4, 20, false, CrossNic.NEVER, 100_000);
        assertThat(new ChannelSearch(paths, few).search(Pattern.RING).channels())
                .isEqualTo(4);
    }

    /** The bound comes from the links alone: PCI counts in addition to NVLink, although no path uses both. */
    @ParameterizedTest
    @CsvSource({"cube-mesh, false, 130", "rails, false, 418.8", "rails, true, 384", "two-sockets, true, 24"})
    void noRingExceedsTheSmallestCut(String host, boolean networks, double bound) {
        assertThat(CutBound.ofRings(paths(host, networks).topology(), networks)).isCloseTo(bound, within(0.001));
    }

    private static ChannelGraph ring(String host, CrossNic crossNic) {
        NodePaths paths = paths(host, true);
        SearchOptions options = SearchOptions.forGpus(paths.topology(), true).withCrossNic(crossNic);
        ChannelGraph ring = new ChannelSearch(paths, options).search(Pattern.RING);
        ChannelChecker.check(paths, ring, host);
        return ring;
    }

    static NodePaths paths(String host, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(text(host)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), 0, networks));
    }

    private static String text(String host) {
        try (InputStream in = DescribedHostsSearchTest.class.getResourceAsStream(host + ".xml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
