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

/** Hosts of known kinds, and what can be said about them with paper and pencil. */
class DescribedMachinesSearchTest {

    /**
     * Rings and trees in GB/s. A GPU of the cube mesh has six NVLinks of 20; its switch has a link of 12 to a card. One
     * on the rails has 18 NVLinks of 20.6, of which a chain of eight uses seven eighths on average, and a card of 48.
     * The two sockets share a link of 16 each way, which a ring inside the host uses in both directions; with networks
     * it goes in at one socket and out at the other, and the GPUs' own links of 24 are the least. Of the three devices
     * on the card two are one port: 6.25 each.
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
    void uses_what_the_links_have(String machine, boolean networks, double rings, double trees) {
        NodePaths paths = paths(machine, networks);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), networks));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        assertThat(ring.interBandwidthGBps()).isCloseTo(rings, within(0.001));
        assertThat(tree.interBandwidthGBps()).isCloseTo(trees, within(0.001));
        assertThat(tree.channels()).isEqualTo(ring.channels());
        ChannelChecker.check(paths, ring, machine);
        ChannelChecker.check(paths, tree, machine);
    }

    @Test
    void rings_that_cross_rails_come_in_pairs_of_opposite_directions() {
        ChannelGraph ring = ring("two-sockets", CrossNic.IF_BETTER);
        assertThat(ring.crossNic()).isTrue();
        assertThat(ring.orders()).containsExactly(List.of(0, 1, 2, 3), List.of(3, 2, 1, 0));
        assertThat(ring.rails()).containsExactly(new Rail(0, 1), new Rail(1, 0));
    }

    @Test
    void rings_stay_on_their_rail_where_that_is_asked_for() {
        ChannelGraph ring = ring("two-sockets", CrossNic.NEVER);
        assertThat(ring.crossNic()).isFalse();
        assertThat(ring.interBandwidthGBps()).isCloseTo(16, within(0.001));
        assertThat(ring("rails", CrossNic.NEVER).typeInter()).isEqualTo(PathType.PXN);
    }

    @Test
    void rings_stay_on_their_rail_where_crossing_gives_nothing() {
        assertThat(ring("cube-mesh", CrossNic.IF_BETTER).crossNic()).isFalse();
        assertThat(ring("cube-mesh", CrossNic.ALWAYS).crossNic()).isTrue();
    }

    @Test
    void a_channel_gets_no_more_than_it_can_use() {
        NodePaths paths = paths("rails", false);
        SearchOptions narrow = new SearchOptions(1, 32, 20, false, CrossNic.NEVER, 100_000);
        ChannelGraph ring = new ChannelSearch(paths, narrow).search(Pattern.RING);
        assertThat(ring.bwIntra()).isLessThanOrEqualTo(20);
        assertThat(ring.totalBandwidthGBps()).isCloseTo(370.8, within(0.001));
        SearchOptions few = new SearchOptions(1, 4, 20, false, CrossNic.NEVER, 100_000);
        assertThat(new ChannelSearch(paths, few).search(Pattern.RING).channels())
                .isEqualTo(4);
    }

    /** The bound is the links' alone: PCI counts beside NVLink, although no path uses both. */
    @ParameterizedTest
    @CsvSource({"cube-mesh, false, 130", "rails, false, 418.8", "rails, true, 384", "two-sockets, true, 24"})
    void no_ring_exceeds_the_smallest_cut(String machine, boolean networks, double bound) {
        assertThat(CutBound.ofRings(paths(machine, networks).topology(), networks))
                .isCloseTo(bound, within(0.001));
    }

    private static ChannelGraph ring(String machine, CrossNic crossNic) {
        NodePaths paths = paths(machine, true);
        SearchOptions options = SearchOptions.forGpus(paths.topology(), true).withCrossNic(crossNic);
        ChannelGraph ring = new ChannelSearch(paths, options).search(Pattern.RING);
        ChannelChecker.check(paths, ring, machine);
        return ring;
    }

    private static NodePaths paths(String machine, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(text(machine)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), 0, networks));
    }

    private static String text(String machine) {
        try (InputStream in = DescribedMachinesSearchTest.class.getResourceAsStream(machine + ".xml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
