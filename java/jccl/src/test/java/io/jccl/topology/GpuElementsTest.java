package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GpuElementsTest {

    private static final XmlElement SYSTEM =
            TopologyXmlReader.read(DescribedHosts.text("gpu4-nvswitch").replaceAll(" rank=\"\\d\"", ""));

    @Test
    void gpusGetTheRanksThatOwnThem() {
        Topology topology = GraphBuilder.build(
                GpuElements.add(SYSTEM, Map.of("0000:23:00.0", List.of(7), "0000:11:00.0", List.of(4)))
                        .orElseThrow());
        assertThat(topology.endpoints())
                .extracting(node -> Topology.rankOf(topology.node(node)))
                .containsExactlyInAnyOrder(4, 7);
        assertThat(topology.endpoints())
                .extracting(node -> ((Node.Gpu) topology.node(node)).dev())
                .containsExactlyInAnyOrder(0, 3);
    }

    /** As in NCCL's dialect, an element names one rank. The written description is read back unchanged. */
    @Test
    void aGpuOfSeveralRanksHasAnElementForEach() {
        XmlElement shared = GpuElements.add(
                        SYSTEM, Map.of("0000:11:00.0", List.of(1, 2, 5), "0000:12:00.0", List.of(0)))
                .orElseThrow();
        Topology topology = GraphBuilder.build(TopologyXmlReader.read(TopologyXmlWriter.write(shared)));
        assertThat(SharedGpus.of(topology).ranks()).isEqualTo(Map.of("0000:11:00.0", List.of(1, 2, 5)));
        assertThat(topology.endpoints())
                .extracting(node -> ((Node.Gpu) topology.node(node)).busId())
                .containsExactly("0000:12:00.0", "0000:11:00.0", "0000:11:00.0", "0000:11:00.0");
        for (int rank : new int[] {1, 2, 5}) {
            assertThat(topology.links(topology.find("GPU/" + rank).orElseThrow()))
                    .extracting(Link::type)
                    .containsExactly(LinkType.LOC, LinkType.LOC, LinkType.NVL, LinkType.PCI);
        }
    }

    @Test
    void noElementsAreAddedIfAGpuIsMissing() {
        assertThat(GpuElements.add(SYSTEM, Map.of("0000:11:00.0", List.of(0), "0000:99:00.0", List.of(1))))
                .isEmpty();
    }
}
