package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.PeerReach;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.stream.Stream;

/**
 * A host of the shared material, and the channels that NCCL finds on it.
 *
 * @param description the XML description of the host
 * @param reference NCCL's answers as JSON
 */
record ReferenceHost(String name, String description, String reference) {

    /**
     * The channels that NCCL found.
     *
     * @param total GB/s of all channels together
     * @param ranks the ranks that the channels visit: a part of the host if NCCL splits it
     */
    record Found(double total, Set<Integer> ranks) {}

    /** Returns all hosts, sorted by name. If the shared material is missing, the calling test is skipped. */
    static List<ReferenceHost> all() throws IOException {
        Optional<Path> topologies = SharedMaterial.find("topologies");
        Optional<Path> references = SharedMaterial.find("reference");
        assumeTrue(topologies.isPresent() && references.isPresent(), "no reference material next to the project");
        List<ReferenceHost> hosts = new ArrayList<>();
        try (Stream<Path> files = Files.list(topologies.get())) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString().replace(".xml", "");
                hosts.add(new ReferenceHost(
                        name,
                        Files.readString(file),
                        Files.readString(references.get().resolve(name + ".json"))));
            }
        }
        return hosts;
    }

    /** Returns the paths between all ranks. */
    NodePaths paths(boolean networks) {
        return trimmed(PathPolicy.defaults(), firstRank(whole()), networks);
    }

    /** Returns the paths among some ranks, as if these were isolated from all other ranks. */
    NodePaths pathsAmong(Set<Integer> ranks, boolean networks) {
        Topology whole = whole();
        Map<Integer, String> sides = new HashMap<>();
        for (int endpoint : whole.endpoints()) {
            int rank = Topology.rankOf(whole.node(endpoint));
            sides.put(rank, ranks.contains(rank) ? "here" : "there");
        }
        PathPolicy apart = PathPolicy.defaults().withReach(PeerReach.sameIsolationDomain(sides));
        return trimmed(apart, ranks.iterator().next(), networks);
    }

    boolean hasNetworks() {
        return !whole().indexesOf(NodeType.NET).isEmpty();
    }

    private Topology whole() {
        return GraphBuilder.build(TopologyXmlReader.read(description));
    }

    private static int firstRank(Topology topology) {
        return Topology.rankOf(topology.node(topology.endpoints().get(0)));
    }

    private NodePaths trimmed(PathPolicy policy, int rank, boolean networks) {
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole(), policy), rank, networks), policy);
    }

    /** Returns the channels that NCCL found; {@code kind} is ring or tree. */
    Found nccl(boolean networks, String kind) {
        String graphs = reference.substring(reference.indexOf("\"graphs\""));
        String part = graphs.substring(graphs.indexOf(networks ? "\"multi\"" : "\"single\""));
        Matcher graph = java.util.regex.Pattern.compile("\"" + kind + "\":\\{\"pattern\":\"\\w+\",\"channels\":(\\d+),"
                        + "\"bw_intra\":([\\d.]+),\"bw_inter\":([\\d.]+)[^\\[]*\"orders\":\\[\\[([\\d,]*)\\]")
                .matcher(part);
        assertThat(graph.find()).as(name + " " + kind).isTrue();
        Set<Integer> ranks = new TreeSet<>();
        Arrays.stream(graph.group(4).split(",")).map(Integer::valueOf).forEach(ranks::add);
        double each = Math.min(Double.parseDouble(graph.group(2)), Double.parseDouble(graph.group(3)));
        return new Found(Integer.parseInt(graph.group(1)) * each, ranks);
    }
}
