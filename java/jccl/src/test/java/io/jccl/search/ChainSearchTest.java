package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests the chains to a network that reduces (CollNet), on a host of eight GPUs with a network device of 48 GB/s each.
 */
@Timeout(60)
class ChainSearchTest {

    private static final int DEVICES = 8;
    private static final double GBPS = 48;

    private static Optional<ChannelGraph> chains(int reducing) throws IOException {
        NodePaths paths = paths(reducing);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true));
        Optional<ChannelGraph> chains = search.searchChains();
        chains.ifPresent(graph -> ChannelChecker.check(paths, graph, "reducing=" + reducing));
        return chains;
    }

    /**
     * Returns the paths of a host of which the first {@code reducing} network devices lead to a network that reduces.
     */
    private static NodePaths paths(int reducing) throws IOException {
        String xml;
        try (InputStream in = ChainSearchTest.class.getResourceAsStream("rails.xml")) {
            xml = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        for (int device = 0; device < reducing; device++) {
            xml = xml.replaceFirst("maxconn=\"65536\"", "maxconn=\"1024\" coll=\"1\"");
        }
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(xml));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), 0, true));
    }

    @Test
    void chainsAreThoseOfTheTreesIfAllOrNoDevicesLeadToANetworkThatReduces() throws IOException {
        assertThat(chains(0)).isEmpty();
        assertThat(chains(DEVICES)).isEmpty();
    }

    @Test
    void chainsUseTheWholeBandwidthOfTheDevicesThatLeadToANetworkThatReduces() throws IOException {
        for (int reducing = 1; reducing < DEVICES; reducing++) {
            int last = reducing;
            ChannelGraph chains = chains(reducing).orElseThrow();
            assertThat(chains.pattern()).isEqualTo(Pattern.TREE);
            assertThat(chains.rails()).allMatch(rail -> rail.in() < last && rail.in() == rail.out());
            assertThat(chains.rails().stream().map(Rail::in).distinct()).hasSize(reducing);
            assertThat(chains.interBandwidthGBps()).isCloseTo(reducing * GBPS, within(0.001));
        }
    }
}
