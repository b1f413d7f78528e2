package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.GraphSummary;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.PathType;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests properties of the predictions for every described host, alone and together with equal hosts. */
class GraphCostModelPropertiesTest {

    private static final List<Collective> KERNELS = List.of(
            Collective.ALL_REDUCE,
            Collective.ALL_GATHER,
            Collective.REDUCE_SCATTER,
            Collective.BROADCAST,
            Collective.REDUCE);
    private static final long LARGE = 1L << 38;
    private static final Map<String, GpuShape> SHAPES = shapes();

    static Stream<Named<GpuShape>> hosts() {
        return SHAPES.entrySet().stream().map(entry -> Named.of(entry.getKey(), entry.getValue()));
    }

    private static Map<String, GpuShape> shapes() {
        Map<String, XmlElement> descriptions = new LinkedHashMap<>();
        DescribedHosts.NAMES.forEach(name -> descriptions.put(name, TopologyXmlReader.read(DescribedHosts.text(name))));
        SharedMaterial.find("topologies").ifPresent(folder -> {
            try (Stream<Path> files = Files.list(folder)) {
                files.filter(file -> file.toString().endsWith(".xml"))
                        .sorted()
                        .forEach(file -> descriptions.put(file.getFileName().toString(), TopologyXmlReader.read(file)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        Map<String, GpuShape> shapes = new LinkedHashMap<>();
        descriptions.forEach((name, description) ->
                GpuShapes.of(description).forEach((hosts, shape) -> shapes.put(hosts + " x " + name, shape)));
        return shapes;
    }

    @Test
    void thereAreHostsWithGpus() {
        assertThat(SHAPES).hasSizeGreaterThanOrEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void timesGrowWithTheSize(GpuShape shape) {
        TuningOverrides none = TuningOverrides.none();
        GraphCostModel model = new GraphCostModel(shape, none);
        for (Collective collective : Collective.values()) {
            for (Algorithm algorithm : Algorithm.values()) {
                for (Protocol protocol : Protocol.values()) {
                    if (model.exists(collective, algorithm, protocol)) {
                        double before = 0;
                        for (long bytes = 1; bytes <= LARGE; bytes = bytes + Math.max(1, bytes / 5)) {
                            Choice choice = model.candidates(collective, algorithm, protocol, bytes, none)
                                    .get(0);
                            double now = model.micros(collective, choice, bytes);
                            assertThat(now)
                                    .as("%s %s %s bytes=%d", collective, algorithm, protocol, bytes)
                                    .isGreaterThanOrEqualTo(before)
                                    .isFinite();
                            assertThat(choice.channels()).isBetween(1, shape.channels());
                            before = now;
                        }
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void smallSizesUseLlAndLargeOnesSimple(GpuShape shape) {
        ChoiceTable table = table(shape, "auto");
        for (Collective collective : KERNELS) {
            assertThat(table.choice(collective, 8).protocol())
                    .as("%s", collective)
                    .isEqualTo(Protocol.LL);
            assertThat(table.choice(collective, LARGE).protocol())
                    .as("%s", collective)
                    .isEqualTo(Protocol.SIMPLE);
        }
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void ringsComeCloseToTheBandwidthOfTheirChannelsAndNeverExceedIt(GpuShape shape) {
        GraphSummary ring = shape.ring();
        double each = shape.oneHost() ? ring.bwIntra() : Math.min(ring.bwIntra(), ring.bwInter());
        double all = each * Math.min(ring.channels(), shape.channels());
        ChoiceTable table = table(shape, "ring");
        for (Collective collective : KERNELS) {
            for (long bytes = 8; bytes <= LARGE; bytes *= 2) {
                double busbw =
                        busFactor(collective, shape.ranks()) * bytes / table.predictedMicros(collective, bytes) / 1000;
                assertThat(busbw).as("%s %d", collective, bytes).isLessThanOrEqualTo(all);
                if (bytes == LARGE) {
                    assertThat(busbw).as("%s", collective).isGreaterThan(0.95 * all);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void treesNeverExceedTheBandwidthOfTheirChannels(GpuShape shape) {
        if (shape.ranks() == 1) {
            return;
        }
        ChoiceTable table = table(shape, "tree");
        for (long bytes = 8; bytes <= LARGE; bytes *= 2) {
            double gbps = bytes / table.predictedMicros(Collective.ALL_REDUCE, bytes) / 1000;
            assertThat(gbps * busFactor(Collective.ALL_REDUCE, shape.ranks()))
                    .isLessThanOrEqualTo(shape.tree().channels() * shape.tree().bwIntra());
            if (!shape.oneHost()) {
                // A tree carries each byte up and down. Between two hosts, these two trips use different directions
                // of the network.
                double trips = shape.hosts() == 2 ? 1 : 2;
                assertThat(gbps)
                        .isLessThanOrEqualTo(
                                shape.tree().channels() * shape.tree().bwInter() / trips);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void overManyHostsSmallSizesUseTreesAndLargeOnesRings(GpuShape shape) {
        if (shape.hosts() < 4) {
            return;
        }
        ChoiceTable ring = table(shape, "ring");
        ChoiceTable tree = table(shape, "tree");
        long last = lastSizeOfTrees(shape);
        for (long bytes = 8; bytes <= last; bytes *= 2) {
            assertThat(tree.predictedMicros(Collective.ALL_REDUCE, bytes))
                    .as("bytes=%d", bytes)
                    .isLessThan(ring.predictedMicros(Collective.ALL_REDUCE, bytes));
        }
        double ofRing = shape.ring().channels()
                * Math.min(shape.ring().bwIntra(), shape.ring().bwInter());
        double ofTree = shape.tree().channels()
                * Math.min(shape.tree().bwIntra(), shape.tree().bwInter());
        if (ofRing >= 0.95 * ofTree) {
            assertThat(ring.predictedMicros(Collective.ALL_REDUCE, LARGE))
                    .isLessThan(tree.predictedMicros(Collective.ALL_REDUCE, LARGE));
        }
    }

    /**
     * Returns the largest size of data at which the hops must take longer than the transfer of the bytes. The size
     * grows with the hops of a ring and with the bandwidth of the network.
     */
    private static long lastSizeOfTrees(GpuShape shape) {
        double network = shape.tree().channels() * shape.tree().bwInter();
        if (shape.hosts() == 32) {
            return network >= 10 ? 512 << 10 : network >= 1 ? 16 << 10 : 1 << 10;
        }
        return network >= 10 && shape.localRanks() >= 8 ? 16 << 10 : 512;
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void ll128StaysOnNvlink(GpuShape shape) {
        ChoiceTable table = table(shape, "auto");
        for (Collective collective : KERNELS) {
            for (long bytes = 8; bytes <= 1L << 30; bytes *= 2) {
                Choice choice = table.choice(collective, bytes);
                if (choice.protocol() == Protocol.LL128) {
                    GraphSummary graph = choice.algorithm() == Algorithm.RING ? shape.ring() : shape.tree();
                    assertThat(shape.hosts()).isEqualTo(1);
                    assertThat(graph.typeIntra()).isIn(PathType.LOC, PathType.NVL, PathType.NVB);
                    assertThat(shape.minCapability()).isGreaterThanOrEqualTo(70);
                }
            }
        }
    }

    private static double busFactor(Collective collective, int ranks) {
        double part = (ranks - 1.0) / ranks;
        return switch (collective) {
            case ALL_REDUCE -> ranks == 1 ? 1 : 2 * part;
            case ALL_GATHER, REDUCE_SCATTER -> ranks == 1 ? 1 : part;
            default -> 1;
        };
    }

    private static ChoiceTable table(GpuShape shape, String algorithms) {
        TuningOverrides overrides = TuningOverrides.of(algorithms, null, 0, 0, 0);
        return ChoiceTable.build(new GraphCostModel(shape, overrides), overrides);
    }
}
