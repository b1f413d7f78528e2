package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TopologySourceTest {

    private static final List<HostRank> RANKS = List.of(new HostRank(0, 1), new HostRank(1, -1), new HostRank(2, 9));

    @TempDir
    Path folder;

    @Test
    void ranksAreAddedAtTheirNumaNodesIfAFileNamesNoRanks() throws IOException {
        Path file = Files.writeString(
                folder.resolve("places.xml"),
                "<system version='1'><cpu numaid='0'/><cpu numaid='1'><pci busid='0000:01:00.0' class='0x030200'/></cpu></system>");
        for (String variable : List.of("JCCL_TOPO_FILE", "NCCL_TOPO_FILE")) {
            Settings settings = settings(variable, file);
            assertThat(TopologySource.name(settings)).isEqualTo(variable + "=" + file);
            Topology graph = GraphBuilder.build(TopologySource.describe(settings, TopologySource.Networks.NONE, RANKS));
            assertThat(graph.endpoints().stream().map(node -> neighbour(graph, node)))
                    .containsExactly("CPU/1", "CPU/0", "CPU/0");
        }
    }

    @Test
    void aFileThatNamesRanksIsUsedUnchanged() throws IOException {
        Path file = Files.writeString(folder.resolve("ranks.xml"), DescribedHosts.text("gpu4-nvswitch"));
        assertThat(TopologySource.describe(settings("JCCL_TOPO_FILE", file), TopologySource.Networks.NONE, RANKS))
                .isEqualTo(TopologyXmlReader.read(DescribedHosts.text("gpu4-nvswitch")));
    }

    @Test
    void ranksInAFileUnderTheNcclNameAreReplaced() throws IOException {
        Path file = Files.writeString(folder.resolve("ranks.xml"), DescribedHosts.text("gpu4-nvswitch"));
        Topology graph = GraphBuilder.build(
                TopologySource.describe(settings("NCCL_TOPO_FILE", file), TopologySource.Networks.NONE, RANKS));
        assertThat(graph.endpoints().stream().map(node -> graph.node(node).type()))
                .containsExactly(NodeType.HOST, NodeType.HOST, NodeType.HOST);
        assertThat(graph.indexesOf(NodeType.GPU)).hasSizeGreaterThanOrEqualTo(4);
    }

    @Test
    void ranksThatShareAGpuInAFileUnderTheNcclNameLeaveOneGpu() throws IOException {
        String shared =
                """
                <system version="1"><cpu numaid="0"><pci busid="0002:81:00.0" class="0x030200">
                  <gpu dev="0" sm="107" rank="0"/>
                  <gpu dev="0" sm="107" rank="1"><c2c bw="56376" count="7"/></gpu>
                </pci></cpu></system>
                """;
        XmlElement system = HostElements.withoutRanks(TopologyXmlReader.read(shared));
        XmlElement pci = system.children(ElementType.CPU).get(0).children().get(0);
        assertThat(pci.children(ElementType.GPU)).singleElement().satisfies(gpu -> {
            assertThat(gpu.text("rank")).isEmpty();
            assertThat(gpu.children(ElementType.C2C)).hasSize(1);
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "no xml",
                "<graphs version='1'/>",
                "<!DOCTYPE topology SYSTEM 'hwloc2.dtd'><topology version='2.0'/>",
                "<system version='1'><cpu numaid='0'/><cpu numaid='0'/></system>"
            })
    void aFileUnderTheNcclNameThatIsNoDescriptionIsIgnored(String text) throws IOException {
        Path file = folder.resolve("bad.xml");
        Files.writeString(file, text);
        XmlElement found = TopologyXmlReader.read("<system version='1'><cpu numaid='3'/></system>");
        XmlElement used = TopologySource.describe(settings("NCCL_TOPO_FILE", file), RANKS, () -> found);
        assertThat(used).isEqualTo(HostElements.add(found, RANKS));
        assertThat(TopologySource.name(settings("NCCL_TOPO_FILE", folder.resolve("missing.xml"))))
                .isEqualTo("this host");
        Settings strict = settings("JCCL_TOPO_FILE", file);
        assertThatThrownBy(() -> GraphBuilder.build(TopologySource.describe(strict, List.of(), () -> found)))
                .isInstanceOf(TopologyException.class);
    }

    @Test
    void aFileThatIsMissingIsNamed() {
        Path file = folder.resolve("missing.xml");
        XmlElement found = TopologyXmlReader.read("<system version='1'><cpu numaid='0'/></system>");
        assertThat(TopologySource.describe(settings("NCCL_TOPO_FILE", file), List.of(), () -> found))
                .isEqualTo(found);
        Settings missing = settings("JCCL_TOPO_FILE", file);
        assertThatThrownBy(() -> TopologySource.describe(missing, TopologySource.Networks.NONE, RANKS))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("missing.xml: cannot be read");
    }

    @Test
    void holesOfAFileAreFilledFromTheHost() throws IOException {
        XmlElement found = TopologyXmlReader.read("<system version='1'><cpu numaid='0' arch='x86_64'>"
                + "<nic><net name='eth0' dev='0' speed='10000'/></nic></cpu></system>");
        Settings empty =
                settings("NCCL_TOPO_FILE", Files.writeString(folder.resolve("empty.xml"), "<system version='1'/>"));
        Topology graph = GraphBuilder.build(TopologySource.describe(empty, RANKS, () -> found));
        assertThat(graph.endpoints()).hasSize(3);
        assertThat(graph.find("NET/0")).isPresent();
        Settings slow = settings(
                "JCCL_TOPO_FILE",
                Files.writeString(
                        folder.resolve("slow.xml"),
                        "<system version='1'><cpu numaid='0'><nic><net name='eth0' dev='4' speed='1000'/></nic></cpu></system>"));
        Topology slower = GraphBuilder.build(TopologySource.describe(slow, RANKS, () -> found));
        assertThat(((Node.Net) slower.node(slower.find("NET/4").orElseThrow())).bandwidthGBps())
                .isEqualTo(0.125);
        assertThat(((Node.Cpu) slower.node(slower.find("CPU/0").orElseThrow()))
                        .model()
                        .arch())
                .isEqualTo("x86_64");
    }

    @Test
    void withoutAFileThisHostIsDescribed() {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of());
        assertThat(TopologySource.name(settings)).isEqualTo("this host");
        Topology graph = GraphBuilder.build(TopologySource.describe(settings, TopologySource.Networks.NONE, RANKS));
        assertThat(graph.endpoints()).hasSize(3);
    }

    private static String neighbour(Topology graph, int node) {
        return graph.node(graph.links(node).get(0).to()).name();
    }

    private static Settings settings(String variable, Path file) {
        return Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of(variable, file.toString()));
    }
}
