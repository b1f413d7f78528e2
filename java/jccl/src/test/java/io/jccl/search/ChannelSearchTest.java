package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.Link;
import io.jccl.topology.Machines;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChannelSearchTest {

    @Test
    void visits_the_ranks_of_a_numa_node_together() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(1, false), Pattern.RING);
        assertThat(ring.orders()).containsExactly(List.of(0, 2, 1, 3));
        assertThat(ring.typeIntra()).isEqualTo(PathType.SYS);
        assertThat(ring.nets()).isEmpty();
        assertThat(ring.bwIntra()).isEqualTo(12);
    }

    @Test
    void channels_share_what_the_links_carry() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(3, false), Pattern.RING);
        assertThat(ring.channels()).isEqualTo(3);
        assertThat(ring.bwIntra()).isCloseTo(4, within(1e-9));
        assertThat(ring.totalBandwidthGBps()).isCloseTo(12, within(1e-9));
    }

    @Test
    void starts_beside_the_network() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(1, true), Pattern.RING);
        assertThat(ring.nets()).containsExactly(new ChannelGraph.Nets(0, 0));
        assertThat(ring.orders().get(0).get(0)).isEqualTo(0);
        assertThat(ring.bwInter()).isEqualTo(12);
    }

    @Test
    void spreads_channels_over_network_devices_that_are_equally_near() {
        String xml = Machines.text("host-2numa").replace("speed=\"10000\"", "speed=\"100000\"");
        NodePaths paths = NodePaths.compute(GraphBuilder.build(TopologyXmlReader.read(xml)));
        ChannelGraph ring = new ChannelSearch(paths, new SearchOptions(2, true)).search(Pattern.RING);
        // The device that hangs on the CPU itself carries 12.5 GB/s, more than a rank; both are as near.
        assertThat(ring.nets()).extracting(ChannelGraph.Nets::in).containsExactly(0, 1);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "2, 2, 1", "8, 2, 4", "64, 2, 4", "2, 8, 1", "6, 2, 3"})
    void a_host_rank_gets_a_channel_per_core(int cores, int ranks, int channels) {
        assertThat(SearchOptions.forHost(cores, ranks, false).channels()).isEqualTo(channels);
    }

    /** What all channels put on each directed link is at most its bandwidth, counted independently of the search. */
    @Test
    void never_claims_more_than_the_links_carry() {
        for (String machine : Machines.NAMES) {
            NodePaths paths = Machines.paths(machine);
            for (int channels = 1; channels <= 4; channels++) {
                for (Pattern pattern : Pattern.values()) {
                    ChannelGraph graph = new ChannelSearch(paths, new SearchOptions(channels, false)).search(pattern);
                    check(paths, graph);
                }
            }
        }
    }

    @Test
    void refuses_a_machine_without_ranks() {
        NodePaths empty = NodePaths.compute(
                GraphBuilder.build(TopologyXmlReader.read("<system version='1'><cpu numaid='0'/></system>")));
        assertThatThrownBy(() -> new ChannelSearch(empty, new SearchOptions(1, false)).search(Pattern.RING))
                .hasMessageContaining("no rank lives on this machine");
    }

    private static ChannelGraph search(String machine, SearchOptions options, Pattern pattern) {
        return new ChannelSearch(Machines.paths(machine), options).search(pattern);
    }

    private static void check(NodePaths paths, ChannelGraph graph) {
        Topology topology = paths.topology();
        List<Integer> endpoints = topology.endpoints();
        Map<List<Integer>, Double> load = new HashMap<>();
        for (List<Integer> order : graph.orders()) {
            assertThat(order).doesNotHaveDuplicates().hasSize(endpoints.size());
            int edges = graph.pattern() == Pattern.RING ? order.size() : order.size() - 1;
            for (int i = 0; i < edges; i++) {
                int from = endpoints.get(order.get(i));
                int to = endpoints.get(order.get((i + 1) % order.size()));
                carry(load, paths.path(from, to), graph.bwIntra());
                if (graph.pattern() != Pattern.RING) {
                    carry(load, paths.path(to, from), graph.bwIntra());
                }
            }
        }
        load.forEach((edge, carried) -> assertThat(carried)
                .isLessThanOrEqualTo(topology.links(edge.get(0)).stream()
                                .filter(link -> link.to() == edge.get(1))
                                .mapToDouble(Link::bandwidthGBps)
                                .max()
                                .orElseThrow()
                        * (1 + 1e-9)));
    }

    private static void carry(Map<List<Integer>, Double> load, NodePath path, double bandwidth) {
        int at = path.from();
        for (int next : path.via()) {
            load.merge(List.of(at, next), bandwidth, Double::sum);
            at = next;
        }
    }
}
