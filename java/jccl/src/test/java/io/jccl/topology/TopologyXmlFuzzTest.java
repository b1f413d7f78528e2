package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that damaged descriptions are read, or refused with a clear error, and that nothing else happens. */
@Timeout(300)
class TopologyXmlFuzzTest {

    private static final int MUTATIONS = 100_000;
    /** Computing paths takes far longer than reading: paths are computed for one of this many mutations. */
    private static final int PATHS_EVERY = 1024;

    private static final int LONGEST_MESSAGE = 1000;

    /** Every mutation has its own seed, so that it can be repeated, whichever thread ran it. */
    @Test
    void aMutatedDescriptionIsReadOrRefusedClearly() throws IOException {
        List<String> hosts = hosts();
        long refused = IntStream.range(0, MUTATIONS)
                .parallel()
                .filter(seed -> isRefused(hosts.get(seed % hosts.size()), seed))
                .count();
        assertThat(refused).isBetween(MUTATIONS / 5L, MUTATIONS - MUTATIONS / 20L);
    }

    /** Returns the project's own hosts, and those of the shared material that are small enough to be read often. */
    private static List<String> hosts() throws IOException {
        List<String> hosts = new ArrayList<>();
        DescribedHosts.NAMES.forEach(name -> hosts.add(DescribedHosts.text(name)));
        Optional<Path> folder = SharedMaterial.find("topologies");
        if (folder.isPresent()) {
            try (Stream<Path> files = Files.list(folder.get())) {
                for (Path file : files.sorted().toList()) {
                    if (Files.size(file) < 3_000) {
                        hosts.add(Files.readString(file));
                    }
                }
            }
        }
        return hosts;
    }

    private static boolean isRefused(String host, int seed) {
        byte[] bytes = new Mutations(seed).mutate(host);
        try {
            XmlElement read = TopologyXmlReader.read(new ByteArrayInputStream(bytes), "mutation");
            requireSame(read, TopologyXmlReader.read(TopologyXmlWriter.write(read)), seed);
            Topology graph = GraphBuilder.build(read);
            if (seed % PATHS_EVERY == 0) {
                NodePaths.compute(graph);
            }
            return false;
        } catch (TopologyException e) {
            requireClear(e.getMessage(), seed);
            return true;
        } catch (RuntimeException | StackOverflowError e) {
            throw new AssertionError("mutation " + seed + ": " + new String(bytes, StandardCharsets.ISO_8859_1), e);
        }
    }

    private static void requireSame(XmlElement read, XmlElement again, int seed) {
        if (!again.equals(read)) {
            throw new AssertionError("mutation " + seed + ": changed by writing and reading");
        }
    }

    private static void requireClear(String message, int seed) {
        boolean placed = message.contains("line=") || message.contains("nodes=");
        boolean printable = message.chars().noneMatch(Character::isISOControl);
        if (!placed || !printable || message.length() > LONGEST_MESSAGE) {
            throw new AssertionError("mutation " + seed + ": no clear error: " + message);
        }
    }
}
