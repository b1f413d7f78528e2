package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.topology.DescribedHosts;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChannelSearchTest {

    @Test
    void visitsTheRanksOfANumaNodeTogether() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(1, false), Pattern.RING);
        assertThat(ring.orders()).containsExactly(List.of(0, 2, 1, 3));
        assertThat(ring.typeIntra()).isEqualTo(PathType.SYS);
        assertThat(ring.rails()).isEmpty();
        assertThat(ring.bwIntra()).isEqualTo(12);
    }

    @Test
    void channelsShareTheBandwidthOfTheLinks() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(3, false), Pattern.RING);
        assertThat(ring.channels()).isEqualTo(3);
        assertThat(ring.bwIntra()).isCloseTo(4, within(1e-9));
        assertThat(ring.totalBandwidthGBps()).isCloseTo(12, within(1e-9));
    }

    @Test
    void startsNearTheNetwork() {
        ChannelGraph ring = search("host-2numa", new SearchOptions(1, true), Pattern.RING);
        assertThat(ring.rails()).containsExactly(new Rail(0, 0));
        assertThat(ring.orders().get(0).get(0)).isEqualTo(0);
        assertThat(ring.bwInter()).isEqualTo(12);
    }

    @Test
    void spreadsChannelsOverNetworkDevicesThatAreEquallyNear() {
        String xml = DescribedHosts.text("host-2numa").replace("speed=\"10000\"", "speed=\"100000\"");
        NodePaths paths = NodePaths.compute(GraphBuilder.build(TopologyXmlReader.read(xml)));
        ChannelGraph ring = new ChannelSearch(paths, new SearchOptions(2, true)).search(Pattern.RING);
        // The device that is directly at the CPU carries 12.5 GB/s, more than a rank can send. Both devices are equally
        // near.
        assertThat(ring.rails()).extracting(Rail::in).containsExactly(0, 1);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "2, 2, 1", "8, 2, 4", "64, 2, 4", "2, 8, 1", "6, 2, 3"})
    void aHostRankGetsAChannelPerCore(int cores, int ranks, int channels) {
        assertThat(SearchOptions.forHost(cores, ranks, false).maxChannels()).isEqualTo(channels);
    }

    /**
     * The load of all channels on each directed link is at most its bandwidth. The load is counted without the search.
     */
    @Test
    void neverClaimsMoreThanTheLinksCarry() {
        for (String host : DescribedHosts.NAMES) {
            for (int channels = 1; channels <= 4; channels++) {
                for (Pattern pattern : Pattern.values()) {
                    for (boolean networks : new boolean[] {false, true}) {
                        NodePaths paths = trimmed(DescribedHosts.topology(host), networks);
                        ChannelGraph graph =
                                new ChannelSearch(paths, new SearchOptions(channels, networks)).search(pattern);
                        // Only one network device of the host "every-attribute" has a link to the ranks. The device
                        // allows one channel.
                        assertThat(graph.channels())
                                .isEqualTo(host.equals("every-attribute") && networks ? 1 : channels);
                        ChannelChecker.check(paths, graph, host);
                    }
                }
            }
        }
    }

    @Test
    void refusesAHostWithoutRanks() {
        NodePaths empty = NodePaths.compute(
                GraphBuilder.build(TopologyXmlReader.read("<system version='1'><cpu numaid='0'/></system>")));
        assertThatThrownBy(() -> new ChannelSearch(empty, new SearchOptions(1, false)).search(Pattern.RING))
                .hasMessageContaining("no rank lives on this host");
    }

    private static NodePaths trimmed(Topology whole, boolean networks) {
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
    }

    private static ChannelGraph search(String host, SearchOptions options, Pattern pattern) {
        return new ChannelSearch(DescribedHosts.paths(host), options).search(pattern);
    }
}
