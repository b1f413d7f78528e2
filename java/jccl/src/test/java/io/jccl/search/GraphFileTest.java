package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.testing.Seeds;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.SharedRanks;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the plan gets the channels of a graph file, and that channels that do not fit the host are refused. */
class GraphFileTest {

    /**
     * A file like those that clouds publish for four GPUs in two pairs: decimal numbers, no net elements, more trees
     * than rings.
     */
    private static final String PAIRS =
            """
            <graphs version="1">
              <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="12" speedinter="12" latencyinter="0" typeintra="SYS" typeinter="PIX" samechannels="0">
                <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu dev="3"/></channel>
                <channel><gpu dev="0"/><gpu dev="3"/><gpu dev="2"/><gpu dev="1"/></channel>
              </graph>
              <graph id="1" pattern="1" crossnic="0" nchannels="3" speedintra="12" speedinter="12" latencyinter="0" typeintra="SYS" typeinter="PIX" samechannels="0">
                <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu dev="3"/></channel>
                <channel><gpu dev="1"/><gpu dev="0"/><gpu dev="3"/><gpu dev="2"/></channel>
                <channel><gpu dev="3"/><gpu dev="2"/><gpu dev="1"/><gpu dev="0"/></channel>
              </graph>
              <graph id="3" pattern="5" crossnic="0" nchannels="0" speedintra="0" speedinter="0" typeintra="NVL" typeinter="PIX" samechannels="0"/>
            </graphs>""";

    /** A ring over two sockets with two GPUs and a network device each. */
    private static final String RING =
            """
            <graphs version="1">
              <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="6" speedinter="6" typeintra="SYS" typeinter="PHB" samechannels="0">
                <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu dev="3"/><net dev="0"/></channel>
              </graph>
            </graphs>""";

    private static NodePaths paths(String xml, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(xml));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
    }

    private static ChannelSearch host(NodePaths paths, boolean networks) {
        return new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), networks));
    }

    private static ChannelSearch host(String name, boolean networks) {
        return host(paths(DescribedHosts.text(name), networks), networks);
    }

    private static GraphFile file(String text) {
        return GraphFile.read(text.getBytes(StandardCharsets.UTF_8), "graphs.xml");
    }

    private static Optional<GivenChannels> rings(String text, ChannelSearch host) {
        return file(text).rings(host, SearchOptions.CrossNic.IF_BETTER);
    }

    @Test
    void channelsOfACloudsFileAreUsed() {
        ChannelSearch host = host("gpu4-nvswitch", false);
        ChannelGraph ring = rings(PAIRS, host).orElseThrow().graph();
        assertThat(ring.orders()).containsExactly(List.of(0, 1, 2, 3), List.of(0, 3, 2, 1));
        assertThat(ring.bwIntra()).isEqualTo(12);
        assertThat(ring.rails()).isEmpty();
        ChannelGraph tree = file(PAIRS)
                .trees(host, SearchOptions.CrossNic.IF_BETTER)
                .orElseThrow()
                .graph();
        assertThat(tree.pattern()).isEqualTo(Pattern.BALANCED_TREE);
        assertThat(tree.orders()).containsExactly(List.of(0, 1, 2, 3), List.of(1, 0, 3, 2), List.of(3, 2, 1, 0));
        // The type of a graph is that of the host's paths; the type in the file is ignored.
        assertThat(tree.typeIntra()).isEqualTo(PathType.NVL);
    }

    @Test
    void missingGraphsAreSearched() {
        ChannelSearch host = host("gpu4-nvswitch", false);
        assertThat(file("<graphs version='1'/>").trees(host, SearchOptions.CrossNic.IF_BETTER))
                .isEmpty();
        assertThat(rings("<graphs version='1'><graph id='0' pattern='4' nchannels='0'/></graphs>", host))
                .isEmpty();
    }

    /**
     * A ring crosses the link between two sockets once in each direction, so the bandwidth of that link limits the
     * ring.
     */
    @Test
    void speedsAreReducedToThoseThatTheLinksCarry() {
        ChannelSearch host = host("/io/jccl/search/two-sockets", true);
        double carried = rings(RING, host).orElseThrow().graph().bwInter();
        assertThat(carried).isEqualTo(6);
        GivenChannels more = rings(RING.replace("\"6\"", "\"600\""), host).orElseThrow();
        assertThat(more.graph().bwInter()).isEqualTo(16);
        assertThat(more.note()).hasValueSatisfying(note -> assertThat(note)
                .isEqualTo(
                        "line=2 element=<graph>: speeds of 600.0 GB/s; the links of this host carry 16.0 on each of its"
                                + " 1 channels, which counts"));
        ChannelChecker.check(
                paths(DescribedHosts.text("/io/jccl/search/two-sockets"), true), more.graph(), "what counts");
    }

    /** On one host the network devices of the file are ignored, and the last rank sends to the first instead. */
    @Test
    void aFileForSeveralHostsCanBeUsedOnOneHost() {
        ChannelGraph ring = rings(
                        RING.replace("speedintra=\"6\"", "speedintra=\"600\""),
                        host("/io/jccl/search/two-sockets", false))
                .orElseThrow()
                .graph();
        assertThat(ring.rails()).isEmpty();
        assertThat(ring.bwInter()).isEqualTo(ring.bwIntra());
        ChannelChecker.check(paths(DescribedHosts.text("/io/jccl/search/two-sockets"), false), ring, "closed");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "version=\"1\" | version=\"2\" | element=<graphs> version=\"2\": expected 1",
                "<graphs | <system | expected <graphs> as the outermost element, and only there; a host description is for JCCL_TOPO_FILE",
                "pattern=\"4\" | pattern=\"1\" | line=2 element=<graph> pattern=\"1\": expected one of [4]",
                "pattern=\"4\" | pattern=\"ring\" | pattern=\"ring\": expected a whole number",
                "id=\"0\" | | attribute=id: missing",
                "nchannels=\"1\" | nchannels=\"2\" | nchannels=\"2\": expected 1, the number of its channel elements",
                "nchannels=\"1\" | nchannels=\"65\" | nchannels=\"65\": expected a whole number from 0 to 64",
                "speedintra=\"6\" | speedintra=\"0\" | speedintra=\"0\": expected GB/s, more than 0",
                "speedinter=\"6\" | speedinter=\"NaN\" | speedinter=\"NaN\": expected GB/s, more than 0",
                "speedinter=\"6\" | | attribute=speedinter: missing",
                "typeintra=\"SYS\" | typeintra=\"FAR\" | typeintra=\"FAR\": expected one of [LOC, NVL",
                "<gpu dev=\"3\"/> | | line=3 element=<channel>: visits 3 GPUs; expected all 4 of the ranks here, dev=[0, 1, 2, 3]",
                "<gpu dev=\"3\"/> | <gpu dev=\"4\"/> | element=<gpu> dev=\"4\": no rank of this communicator has this GPU here; expected one of [0, 1, 2, 3]",
                "<gpu dev=\"3\"/> | <gpu dev=\"0x2\"/> | element=<gpu> dev=\"0x2\": the channel visits it already",
                "<gpu dev=\"3\"/> | <gpu dev=\"-1\"/> | dev=\"-1\": expected a whole number from 0",
                "<gpu dev=\"3\"/> | <gpu dev=\"99999999999999999999\"/> | expected a whole number from 0",
                "<gpu dev=\"3\"/> | <host dev=\"3\"/> | element=<host>: unknown here; expected <net> or <gpu>",
                "<net dev=\"0\"/><gpu | <gpu | has 1 net elements that are used here; expected 2",
                "<net dev=\"0\"/></channel> | <net dev=\"7\"/></channel> | dev=\"7\": no network device that channels may use has this number; expected one of [0, 1]",
                "<net dev=\"0\"/></channel> | <net dev=\"1\"/></channel> | leaves by another net than it comes in by; expected crossnic=\"1\"",
                "channel> | chanel> | element=<chanel>: unknown here; expected <channel>",
                "graph> | graf> | no well-formed XML",
            })
    void anErrorInTheFileIsNamed(String what, String instead, String message) {
        String text = RING.replace(what, instead == null ? "" : instead);
        assertThatThrownBy(() -> rings(text, host("/io/jccl/search/two-sockets", true)))
                .isInstanceOf(TopologyException.class)
                .hasMessageStartingWith("graphs.xml ")
                .hasMessageContaining(message)
                .hasMessageEndingWith("; correct the file, or unset the setting to have channels searched");
    }

    @Test
    void aFileUnderTheNcclNameThatDoesNotFitTheHostIsIgnored(@TempDir Path folder) throws IOException {
        ChannelSearch host = host("/io/jccl/search/two-sockets", true);
        Path other = Files.writeString(folder.resolve("other.xml"), RING.replace("<gpu dev=\"3\"/>", ""));
        Path hwloc = Files.writeString(folder.resolve("hwloc.xml"), "<topology version='2.0'/>");
        assertThat(fileOf("NCCL_GRAPH_FILE", other).orElseThrow().rings(host, SearchOptions.CrossNic.IF_BETTER))
                .isEmpty();
        assertThat(fileOf("NCCL_GRAPH_FILE", hwloc)).isEmpty();
        assertThat(fileOf("NCCL_GRAPH_FILE", folder.resolve("missing"))).isEmpty();
        assertThatThrownBy(() -> fileOf("JCCL_GRAPH_FILE", hwloc)).hasMessageStartingWith("JCCL_GRAPH_FILE=");
    }

    private static Optional<GraphFile> fileOf(String variable, Path file) {
        return GraphFile.of(
                Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of(variable, file.toString())));
    }

    @Test
    void aSecondGraphOfTheSameIdIsRefused() {
        String twice = RING.replace("</graphs>", "<graph id=\"0\"/></graphs>");
        assertThatThrownBy(() -> rings(twice, host("/io/jccl/search/two-sockets", true)))
                .hasMessageContaining("line=5 element=<graph> id=\"0\": given in line=2 already");
    }

    @Test
    void crossingIsRefusedIfItIsForbidden() {
        String crossing = RING.replace("crossnic=\"0\"", "crossnic=\"1\"")
                .replace("<net dev=\"0\"/></channel>", "<net dev=\"1\"/></channel>");
        ChannelSearch host = host("/io/jccl/search/two-sockets", true);
        assertThat(rings(crossing, host).orElseThrow().graph().rails()).containsExactly(new Rail(0, 1));
        assertThatThrownBy(() -> file(crossing).rings(host, SearchOptions.CrossNic.NEVER))
                .hasMessageContaining("JCCL_CROSS_NIC=0 expects the same");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void channelsAreReadAsTheyWereWritten(boolean networks) {
        for (int seed = 0; seed < Seeds.of(100); seed++) {
            requireReadAsWritten(RandomHost.description(seed, 12), networks, "seed=" + seed);
        }
        for (String host : List.of("cube-mesh", "rails", "shared-port", "two-sockets")) {
            requireReadAsWritten(DescribedHosts.text("/io/jccl/search/" + host), networks, host);
        }
    }

    /** Ranks that share a GPU are written as one GPU. */
    @Test
    void channelsOfRanksThatShareGpusAreReadAsTheyWereWritten() {
        for (String host : List.of("cube-mesh", "rails", "two-sockets")) {
            String xml = SharedRanks.on(
                    DescribedHosts.text("/io/jccl/search/" + host), SharedRanks.ascending(1, 3, 2, 1, 1, 1, 1, 1));
            requireReadAsWritten(xml, true, host);
            requireReadAsWritten(xml, false, host);
        }
    }

    private static void requireReadAsWritten(String xml, boolean networks, String what) {
        NodePaths paths = paths(xml, networks);
        ChannelSearch search = host(paths, networks);
        ChannelGraph rings = search.search(Pattern.RING);
        ChannelGraph trees = search.searchTree(rings);
        String written = GraphFileWriter.write(rings, trees, paths.topology());
        GraphFile read = file(written);
        for (SearchOptions.CrossNic crossNic :
                List.of(SearchOptions.CrossNic.IF_BETTER, SearchOptions.CrossNic.ALWAYS)) {
            GivenChannels again = read.rings(host(paths, networks), crossNic).orElseThrow();
            assertThat(again.note()).as(what).isEmpty();
            assertThat(again.graph()).as(what).isEqualTo(rings);
            assertThat(read.trees(host(paths, networks), crossNic).orElseThrow())
                    .as(what)
                    .isEqualTo(new GivenChannels(trees, Optional.empty()));
        }
        assertThat(rings.bwIntra()).as(what).isCloseTo(rings.bwInter(), within(1e-9));
    }
}
