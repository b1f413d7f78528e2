package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.TransportKind;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.GraphFile;
import io.jccl.search.GraphFileWriter;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.NodeType;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that a plan stays the same if its channels are written to a graph file and read from there. */
class GraphFilePlanTest {

    @Test
    void plansOfDescribedHostsStayTheSame() throws IOException {
        List<XmlElement> hosts = new ArrayList<>();
        for (String name : List.of("cube-mesh", "rails", "shared-port", "two-sockets")) {
            hosts.add(TopologyXmlReader.read(DescribedHosts.text("/io/jccl/search/" + name)));
        }
        Optional<Path> more = SharedMaterial.find("topologies");
        if (more.isPresent()) {
            try (Stream<Path> files = Files.list(more.get())) {
                files.forEach(file -> hosts.add(TopologyXmlReader.read(file)));
            }
        }
        for (XmlElement host : hosts) {
            requireSamePlan(host, 1);
            requireSamePlan(host, 3);
        }
    }

    private static void requireSamePlan(XmlElement description, int hosts) {
        LocalSurvey searched = DescribedPlans.survey(description, hosts > 1);
        assertThat(searched.paths().topology().indexesOf(NodeType.HOST)).isEmpty();
        RankChannels channels = searched.survey().channels();
        byte[] text = GraphFileWriter.write(
                        channels.rings(), channels.trees(), searched.paths().topology())
                .getBytes(StandardCharsets.UTF_8);
        LocalSurvey given = DescribedPlans.survey(description, hosts > 1, Optional.of(GraphFile.read(text, "written")));
        assertThat(given.survey()).isEqualTo(searched.survey());
        assertThat(given.notes()).isEmpty();
        CommunicatorPlan one = plan(searched, hosts);
        CommunicatorPlan other = plan(given, hosts);
        assertThat(rings(other.host())).isEqualTo(rings(one.host()));
        assertThat(other.host().treeGraph()).isEqualTo(one.host().treeGraph());
        assertThat(other.shape()).isEqualTo(one.shape());
    }

    private static CommunicatorPlan plan(LocalSurvey survey, int hosts) {
        return DescribedPlans.plan(Collections.nCopies(hosts, survey.survey()), TransportKind.SHM);
    }

    private static List<List<Integer>> rings(Plan plan) {
        return IntStream.range(0, plan.channels())
                .mapToObj(channel -> IntStream.of(plan.ring(channel)).boxed().toList())
                .toList();
    }
}
