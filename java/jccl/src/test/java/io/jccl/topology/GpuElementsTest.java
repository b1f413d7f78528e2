package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class GpuElementsTest {

    private static final XmlElement SYSTEM =
            TopologyXmlReader.read(Machines.text("gpu4-nvswitch").replaceAll(" rank=\"\\d\"", ""));

    @Test
    void gpusGetTheRanksThatOwnThem() {
        Topology topology = GraphBuilder.build(GpuElements.add(SYSTEM, Map.of("0000:23:00.0", 7, "0000:11:00.0", 4))
                .orElseThrow());
        assertThat(topology.endpoints())
                .extracting(node -> Topology.rankOf(topology.node(node)))
                .containsExactlyInAnyOrder(4, 7);
        assertThat(topology.endpoints())
                .extracting(node -> ((Node.Gpu) topology.node(node)).dev())
                .containsExactlyInAnyOrder(0, 3);
    }

    @Test
    void aGpuThatIsNotThereMakesNone() {
        assertThat(GpuElements.add(SYSTEM, Map.of("0000:11:00.0", 0, "0000:99:00.0", 1)))
                .isEmpty();
    }
}
