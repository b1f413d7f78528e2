package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Beside what NCCL finds on the machines of the shared material; skipped where that is not at hand. */
@Timeout(120)
class ReferenceSearchTest {

    /** What NCCL falls back to when its search fails. */
    private static final double TOKEN_GBPS = 0.1;

    private static final double ROUNDING = 1e-9;

    /**
     * One machine in one case.
     *
     * @param split whether NCCL's figures are for a part of the machine
     * @param ncclRing GB/s of all rings
     * @param ncclTree GB/s of all trees, to other machines where there are any
     */
    private record Row(
            String machine,
            boolean networks,
            boolean split,
            double ncclRing,
            double ring,
            double bound,
            double ncclTree,
            double tree) {

        boolean token() {
            return ncclRing <= TOKEN_GBPS * (1 + ROUNDING);
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "| %s | %s | %s%s | %s | %s | %s | %s |",
                    machine,
                    networks ? "several" : "one",
                    number(ncclRing),
                    split ? " (a part)" : "",
                    number(ring),
                    number(bound),
                    number(ncclTree),
                    number(tree));
        }

        private static String number(double gbps) {
            return Double.isInfinite(gbps) ? "none" : String.format(Locale.ROOT, "%.4g", gbps);
        }
    }

    @Test
    void rings_carry_at_least_what_nccl_finds() throws IOException {
        List<Row> rows = rows();
        Files.createDirectories(Path.of("target"));
        Files.write(
                Path.of("target", "search.md"), rows.stream().map(Row::toString).toList());
        assertThat(rows).hasSizeGreaterThan(80);
        for (Row row : rows) {
            // The bound is what no search exceeds: where NCCL's figure for a part of the machine is above it, it
            // stands.
            double expected = row.split ? Math.min(row.ncclRing, row.bound) : row.ncclRing;
            assertThat(row.ring).as(row.toString()).isGreaterThanOrEqualTo(expected * (1 - ROUNDING));
            assertThat(row.ring).as(row.toString()).isLessThanOrEqualTo(row.bound * (1 + ROUNDING));
            assertThat(row.tree)
                    .as(row.toString())
                    .isGreaterThanOrEqualTo(Math.min(row.ncclTree, expected) * (1 - ROUNDING));
            if (row.token()) {
                assertThat(row.ring).as(row.toString()).isGreaterThan(10 * TOKEN_GBPS);
            }
        }
        List<Row> comparable =
                rows.stream().filter(row -> !row.token() && !row.split).toList();
        assertThat(comparable.stream()
                        .mapToDouble(row -> row.ring / row.ncclRing)
                        .average()
                        .orElseThrow())
                .isGreaterThan(1.03);
    }

    private static List<Row> rows() throws IOException {
        Optional<Path> topologies = SharedMaterial.find("topologies");
        Optional<Path> references = SharedMaterial.find("reference");
        assumeTrue(topologies.isPresent() && references.isPresent(), "no reference material beside the project");
        List<Row> rows = new ArrayList<>();
        try (Stream<Path> files = Files.list(topologies.get())) {
            for (Path file : files.sorted().toList()) {
                String machine = file.getFileName().toString().replace(".xml", "");
                String reference = Files.readString(references.get().resolve(machine + ".json"));
                for (boolean networks : new boolean[] {false, true}) {
                    row(machine, Files.readString(file), reference, networks).ifPresent(rows::add);
                }
            }
        }
        return rows;
    }

    private static Optional<Row> row(String machine, String xml, String reference, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(xml));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        NodePaths paths = NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
        if (networks && paths.topology().indexesOf(NodeType.NET).isEmpty()) {
            return Optional.empty();
        }
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forMachine(paths.topology(), 8, networks));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        ChannelChecker.check(paths, ring, machine);
        ChannelChecker.check(paths, tree, machine);
        return Optional.of(new Row(
                machine,
                networks,
                reference.contains("\"split\":true"),
                total(reference, networks, "ring"),
                ring.interBandwidthGBps(),
                CutBound.ofRings(paths.topology(), networks),
                total(reference, networks, "tree"),
                tree.interBandwidthGBps()));
    }

    private static double total(String reference, boolean networks, String kind) {
        String graphs = reference.substring(reference.indexOf("\"graphs\""));
        String part = graphs.substring(graphs.indexOf(networks ? "\"multi\"" : "\"single\""));
        Matcher graph = java.util.regex.Pattern.compile(
                        "\"" + kind
                                + "\":\\{\"pattern\":\"\\w+\",\"channels\":(\\d+),\"bw_intra\":([\\d.]+),\"bw_inter\":([\\d.]+)")
                .matcher(part);
        assertThat(graph.find()).isTrue();
        return Integer.parseInt(graph.group(1))
                * Math.min(Double.parseDouble(graph.group(2)), Double.parseDouble(graph.group(3)));
    }
}
