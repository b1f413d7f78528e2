package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the paths of hosts of every kind with tables that were worked out by hand. */
class DescribedHostsTest {

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
    void pathsEqualThoseOfTheTable(String host) {
        NodePaths paths = DescribedHosts.paths("paths/" + host);
        PathTable table = PathTable.ofResource("paths/" + host + ".paths");
        assertThat(table.missing(paths.topology())).isEmpty();
        assertThat(table.differences(paths)).isEmpty();
        int first = Topology.rankOf(
                paths.topology().node(paths.topology().endpoints().get(0)));
        NodePaths trimmed = NodePaths.compute(Trimmer.trim(paths, first, true));
        assertThat(table.differences(trimmed)).isEmpty();
    }

    @Test
    void aPathOverAnNvlinkNeighbourIsTakenOnlyIfItIsWiderOrShorter() {
        String amd = DescribedHosts.text("paths/nvlink-across-sockets").replace("GenuineIntel", "AuthenticAMD");
        NodePaths paths = NodePaths.compute(GraphBuilder.build(TopologyXmlReader.read(amd)));
        Topology topology = paths.topology();
        NodePath path = paths.path(
                topology.find("GPU/0").orElseThrow(), topology.find("CPU/1").orElseThrow());
        assertThat(path.type()).isEqualTo(PathType.SYS);
        assertThat(path.bandwidthGBps()).isEqualTo(12);
    }

    @Test
    void aSwitchThatAppearsAsSeveralIsOneNode() {
        Topology topology = DescribedHosts.topology("paths/split-switches");
        assertThat(topology.indexesOf(NodeType.PCI))
                .extracting(node -> topology.node(node).name())
                .containsExactly("PCI/0000:10:00.0", "PCI/0000:40:00.0");
    }

    @Test
    void everyRankOnAGpuHasAllOfItsLinks() {
        Topology topology = DescribedHosts.topology("paths/shared-gpus");
        assertThat(links(topology, "CPU/0"))
                .containsOnly(
                        "PCI 24.0 GPU/0",
                        "PCI 24.0 GPU/1",
                        "PCI 24.0 GPU/2",
                        "PCI 24.0 GPU/3",
                        "PCI 12.0 NIC/0000:13:00.0");
        assertThat(links(topology, "GPU/1"))
                .containsExactly("LOC 777.5 GPU/0", "NVL 80.0 GPU/2", "NVL 80.0 GPU/3", "PCI 24.0 CPU/0");
    }

    @Test
    void theTopologyWithOneRankPerGpuLacksOnlyTheOtherRanks() {
        SharedGpus gpus = SharedGpus.of(DescribedHosts.topology("paths/shared-gpus"));
        assertThat(gpus.ranks())
                .containsExactly(Map.entry("0000:11:00.0", List.of(0, 1)), Map.entry("0000:12:00.0", List.of(2, 3)));
        assertThat(links(gpus.distinct(), "GPU/2")).containsExactly("NVL 80.0 GPU/0", "PCI 24.0 CPU/0");
        Topology alone = DescribedHosts.topology("paths/nvlink-mesh");
        assertThat(SharedGpus.of(alone).any()).isFalse();
        assertThat(SharedGpus.of(alone).distinct()).isSameAs(alone);
    }

    @Test
    void linksAreSortedByWidthAndTheLinkToTheParentIsLast() {
        Topology topology = DescribedHosts.topology("paths/pcie-network-faster");
        assertThat(links(topology, "PCI/0000:20:00.0")).last().isEqualTo("PCI 24.0 CPU/1");
        assertThat(links(topology, "CPU/1"))
                .containsExactly("PCI 24.0 PCI/0000:20:00.0", "PCI 24.0 PCI/0000:30:00.0", "SYS 6.0 CPU/0");
        assertThat(links(DescribedHosts.topology("paths/nvlink-mesh"), "GPU/0"))
                .containsExactly("NVL 40.0 GPU/1", "NVL 20.0 GPU/2", "PCI 12.0 PCI/0000:10:00.0");
    }

    private static List<String> links(Topology topology, String node) {
        return topology.links(topology.find(node).orElseThrow()).stream()
                .map(link -> link.type() + " " + link.bandwidthGBps() + " "
                        + topology.node(link.to()).name())
                .toList();
    }
}
