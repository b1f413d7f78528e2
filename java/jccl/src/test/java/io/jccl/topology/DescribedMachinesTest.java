package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Machines of every kind, each with the table of its paths worked out by hand. */
class DescribedMachinesTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nvlink-mesh",
                "pcie-root-ports",
                "pcie-network-faster",
                "split-switches",
                "chip-to-chip",
                "multiport-card",
                "shared-gpus",
                "virtual-flat-bus",
                "power-nvlink",
                "linked-switches",
                "nvlink-across-sockets",
            })
    void paths_are_those_of_the_table(String machine) {
        NodePaths paths = Machines.paths("paths/" + machine);
        PathTable table = PathTable.ofResource("paths/" + machine + ".paths");
        assertThat(table.missing(paths.topology())).isEmpty();
        assertThat(table.differences(paths)).isEmpty();
        int first = Topology.rankOf(
                paths.topology().node(paths.topology().endpoints().get(0)));
        NodePaths trimmed = NodePaths.compute(Trimmer.trim(paths, first, true));
        assertThat(table.differences(trimmed)).isEmpty();
    }

    @Test
    void a_neighbour_is_asked_only_for_what_is_wider_or_shorter() {
        String amd = Machines.text("paths/nvlink-across-sockets").replace("GenuineIntel", "AuthenticAMD");
        NodePaths paths = NodePaths.compute(GraphBuilder.build(TopologyXmlReader.read(amd)));
        Topology topology = paths.topology();
        NodePath path = paths.path(
                topology.find("GPU/0").orElseThrow(), topology.find("CPU/1").orElseThrow());
        assertThat(path.type()).isEqualTo(PathType.SYS);
        assertThat(path.bandwidthGBps()).isEqualTo(12);
    }

    @Test
    void a_switch_that_shows_as_several_is_one() {
        Topology topology = Machines.topology("paths/split-switches");
        assertThat(topology.indexesOf(NodeType.PCI))
                .extracting(node -> topology.node(node).name())
                .containsExactly("PCI/0000:10:00.0", "PCI/0000:40:00.0");
    }

    @Test
    void ranks_on_one_gpu_share_its_links() {
        Topology topology = Machines.topology("paths/shared-gpus");
        double cpu = topology.links(topology.find("CPU/0").orElseThrow()).stream()
                .filter(link -> topology.node(link.to()).type() == NodeType.GPU)
                .mapToDouble(Link::bandwidthGBps)
                .sum();
        assertThat(cpu).isEqualTo(2 * 24);
    }

    @Test
    void links_are_sorted_by_width_and_the_way_up_is_last() {
        Topology topology = Machines.topology("paths/pcie-network-faster");
        assertThat(links(topology, "PCI/0000:20:00.0")).last().isEqualTo("PCI 24.0 CPU/1");
        assertThat(links(topology, "CPU/1"))
                .containsExactly("PCI 24.0 PCI/0000:20:00.0", "PCI 24.0 PCI/0000:30:00.0", "SYS 6.0 CPU/0");
        assertThat(links(Machines.topology("paths/nvlink-mesh"), "GPU/0"))
                .containsExactly("NVL 40.0 GPU/1", "NVL 20.0 GPU/2", "PCI 12.0 PCI/0000:10:00.0");
    }

    private static List<String> links(Topology topology, String node) {
        return topology.links(topology.find(node).orElseThrow()).stream()
                .map(link -> link.type() + " " + link.bandwidthGBps() + " "
                        + topology.node(link.to()).name())
                .toList();
    }
}
