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

class MachineSourceTest {

    private static final List<HostRank> RANKS = List.of(new HostRank(0, 1), new HostRank(1, -1), new HostRank(2, 9));

    @TempDir
    Path folder;

    @Test
    void ranks_live_on_their_nodes_of_a_file_that_names_none() throws IOException {
        Path file = Files.writeString(
                folder.resolve("places.xml"),
                "<system version='1'><cpu numaid='0'/><cpu numaid='1'><pci busid='0000:01:00.0' class='0x030200'/></cpu></system>");
        for (String variable : List.of("JCCL_TOPO_FILE", "NCCL_TOPO_FILE")) {
            Settings settings = settings(variable, file);
            assertThat(MachineSource.name(settings)).isEqualTo("JCCL_TOPO_FILE=" + file);
            Topology graph = GraphBuilder.build(MachineSource.describe(settings, RANKS));
            assertThat(graph.endpoints().stream().map(node -> neighbour(graph, node)))
                    .containsExactly("CPU/1", "CPU/0", "CPU/0");
        }
    }

    @Test
    void a_file_that_names_ranks_is_taken_as_it_is() throws IOException {
        Path file = Files.writeString(folder.resolve("ranks.xml"), Machines.text("gpu4-nvswitch"));
        assertThat(MachineSource.describe(settings("JCCL_TOPO_FILE", file), RANKS))
                .isEqualTo(TopologyXmlReader.read(Machines.text("gpu4-nvswitch")));
    }

    @Test
    void a_file_that_is_missing_is_named() {
        Settings missing = settings("NCCL_TOPO_FILE", folder.resolve("missing.xml"));
        assertThatThrownBy(() -> MachineSource.describe(missing, RANKS))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("missing.xml: cannot be read");
    }

    @Test
    void holes_of_a_file_are_filled_from_the_machine() throws IOException {
        XmlElement found = TopologyXmlReader.read("<system version='1'><cpu numaid='0' arch='x86_64'>"
                + "<nic><net name='eth0' dev='0' speed='10000'/></nic></cpu></system>");
        Settings empty =
                settings("NCCL_TOPO_FILE", Files.writeString(folder.resolve("empty.xml"), "<system version='1'/>"));
        Topology graph = GraphBuilder.build(MachineSource.describe(empty, RANKS, () -> found));
        assertThat(graph.endpoints()).hasSize(3);
        assertThat(graph.find("NET/0")).isPresent();
        Settings slow = settings(
                "JCCL_TOPO_FILE",
                Files.writeString(
                        folder.resolve("slow.xml"),
                        "<system version='1'><cpu numaid='0'><nic><net name='eth0' dev='4' speed='1000'/></nic></cpu></system>"));
        Topology slower = GraphBuilder.build(MachineSource.describe(slow, RANKS, () -> found));
        assertThat(((Node.Net) slower.node(slower.find("NET/4").orElseThrow())).bandwidthGBps())
                .isEqualTo(0.125);
        assertThat(((Node.Cpu) slower.node(slower.find("CPU/0").orElseThrow()))
                        .model()
                        .arch())
                .isEqualTo("x86_64");
    }

    @Test
    void without_a_file_it_is_this_machine() {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of());
        assertThat(MachineSource.name(settings)).isEqualTo("this host");
        Topology graph = GraphBuilder.build(MachineSource.describe(settings, RANKS));
        assertThat(graph.endpoints()).hasSize(3);
    }

    private static String neighbour(Topology graph, int node) {
        return graph.node(graph.links(node).get(0).to()).name();
    }

    private static Settings settings(String variable, Path file) {
        return Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of(variable, file.toString()));
    }
}
