package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A search is part of every initialisation. In a warm JVM, the work from a description to rings and trees must take at
 * most 100 ms for every host. The test measures CPU time of the searching thread, which other work on the host changes
 * little.
 */
@Timeout(120)
class SearchTimeTest {

    private static final double MAX_MILLIS = 100;
    private static final int WARM_UPS = 3;
    private static final int RUNS = 5;
    private static final int CORES = 8;

    /** Returns the project's own descriptions, and those of the shared material if it is present. */
    static List<Path> descriptions() throws IOException, URISyntaxException {
        Path own = Path.of(SearchTimeTest.class.getResource("cube-mesh.xml").toURI())
                .getParent()
                .getParent();
        List<Path> found = new ArrayList<>(described(own.resolve("search")));
        found.addAll(described(own.resolve("topology")));
        assertThat(found).hasSizeGreaterThan(15);
        Optional<Path> shared = SharedMaterial.find("topologies");
        if (shared.isPresent()) {
            found.addAll(described(shared.get()));
        }
        return found;
    }

    private static List<Path> described(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".xml"))
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void aWarmSearchTakesLessThanAHundredMilliseconds(Path description) {
        for (boolean networks : new boolean[] {false, true}) {
            for (int i = 0; i < WARM_UPS; i++) {
                search(description, networks);
            }
            double[] millis = new double[RUNS];
            for (int i = 0; i < RUNS; i++) {
                long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                search(description, networks);
                millis[i] = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin) / 1e6;
            }
            Arrays.sort(millis);
            // The fastest run counts: on a busy host the JVM may still be compiling during the others.
            assertThat(millis[0])
                    .as("milliseconds of %s, networks=%s: %s", description, networks, Arrays.toString(millis))
                    .isGreaterThan(0)
                    .isLessThan(MAX_MILLIS);
        }
    }

    private static void search(Path description, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(text(description)));
        if (whole.endpoints().isEmpty()) {
            return;
        }
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        NodePaths paths = NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forHost(paths.topology(), CORES, networks));
        search.searchTree(search.search(Pattern.RING));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
