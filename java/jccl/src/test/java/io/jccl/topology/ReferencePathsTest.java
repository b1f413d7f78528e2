package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Compares nodes, links and paths with those that NCCL finds on the same hosts. Hosts that NCCL splits in two are left
 * out.
 */
class ReferencePathsTest {

    private static final List<String> KINDS = List.of("gpu_gpu", "gpu_net", "net_gpu", "gpu_cpu", "cpu_gpu", "net_cpu");

    @Test
    void pathsEqualThoseOfNccl() throws IOException {
        int rows = 0;
        List<String> differences = new ArrayList<>();
        for (Map.Entry<Path, JsonNode> host : references().entrySet()) {
            PathTable table = new PathTable();
            for (String kind : KINDS) {
                for (JsonNode path : host.getValue().get("paths").path(kind)) {
                    table.add(new PathTable.Expected(
                            path.get("from").asText(),
                            path.get("to").asText(),
                            PathType.valueOf(path.get("type").asText()),
                            path.get("bw").asDouble()));
                }
            }
            rows += table.size();
            table.differences(paths(host.getKey()))
                    .forEach(line -> differences.add(host.getKey().getFileName() + ": " + line));
        }
        assertThat(rows).isGreaterThan(4000);
        // All nodes, links and paths are equal today. An intended difference must be explained in docs/paths.md.
        assertThat(differences).isEmpty();
    }

    @Test
    void nodesAndLinksEqualThoseOfNccl() throws IOException {
        for (Map.Entry<Path, JsonNode> host : references().entrySet()) {
            Topology topology = paths(host.getKey()).topology();
            Map<String, List<String>> found = new TreeMap<>();
            for (int node = 0; node < topology.size(); node++) {
                found.put(
                        topology.node(node).name(),
                        topology.links(node).stream()
                                .map(link -> link(
                                        link.type().name(),
                                        link.bandwidthGBps(),
                                        topology.node(link.to()).name()))
                                .sorted()
                                .toList());
            }
            Map<String, List<String>> expected = new TreeMap<>();
            for (JsonNode node : host.getValue().get("nodes")) {
                List<String> links = new ArrayList<>();
                for (JsonNode link : node.get("links")) {
                    links.add(link(
                            link.get("type").asText(),
                            link.get("bw").asDouble(),
                            link.get("to").asText()));
                }
                expected.put(node.get("name").asText(), links.stream().sorted().toList());
            }
            assertThat(found).as(host.getKey().toString()).isEqualTo(expected);
        }
    }

    private static String link(String type, double bandwidth, String to) {
        return String.format(java.util.Locale.ROOT, "%s %.3f %s", type, bandwidth, to);
    }

    private static NodePaths paths(Path host) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(host));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, true));
    }

    private static Map<Path, JsonNode> references() throws IOException {
        Path hosts = SharedMaterial.find("topologies").orElse(null);
        Path references = SharedMaterial.find("reference").orElse(null);
        assumeTrue(hosts != null && references != null, "no references on this host");
        Map<Path, JsonNode> found = new TreeMap<>();
        try (Stream<Path> files = Files.list(hosts)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".xml")).toList()) {
                Path reference =
                        references.resolve(file.getFileName().toString().replace(".xml", ".json"));
                JsonNode json = new ObjectMapper().readTree(reference.toFile());
                if (!json.path("split").asBoolean()) {
                    found.put(file, json);
                }
            }
        }
        assertThat(found).hasSizeGreaterThan(10);
        return found;
    }
}
