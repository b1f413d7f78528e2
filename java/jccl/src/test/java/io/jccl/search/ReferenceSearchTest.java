package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Compares the search with NCCL's on the hosts of the shared material; skipped if the material is missing. Writes the
 * table of {@code docs/search.md} to {@code target/search.md}.
 */
@Timeout(120)
class ReferenceSearchTest {

    private static final double ROUNDING = ReferenceRow.ROUNDING;

    private static List<ReferenceRow> rows;

    @BeforeAll
    static void searches() throws IOException {
        rows = new ArrayList<>();
        for (ReferenceHost host : ReferenceHost.all()) {
            for (boolean networks : new boolean[] {false, true}) {
                ReferenceRow.of(host, networks).ifPresent(rows::add);
            }
        }
        assertThat(rows.stream().map(ReferenceRow::host).distinct()).hasSize(46);
        List<String> text = new ArrayList<>(ReferenceRow.HEADER);
        rows.forEach(row -> text.add(row.toString()));
        text.add(averages("found", found()));
        text.add(averages("comparable", comparable()));
        Files.createDirectories(Path.of("target"));
        Files.write(Path.of("target", "search.md"), text);
    }

    /** Returns the rows in which NCCL found channels and there is a link to cross. */
    private static List<ReferenceRow> found() {
        return rows.stream().filter(row -> !row.token() && !row.alone()).toList();
    }

    /** Returns those rows of {@link #found} in which NCCL's figure is for the whole host. */
    private static List<ReferenceRow> comparable() {
        return found().stream().filter(row -> !row.isSplit()).toList();
    }

    private static String averages(String which, List<ReferenceRow> some) {
        return String.format(
                Locale.ROOT,
                "%s: %d of %d rows, ratio %.4f on average, geometric %.4f, %.4f charged as NCCL does",
                which,
                some.size(),
                rows.size(),
                average(some, ReferenceRow::ratio),
                Math.exp(average(some, row -> Math.log(row.ratio()))),
                average(some, row -> row.charged() / row.ncclRing()));
    }

    private static double average(List<ReferenceRow> rows, ToDoubleFunction<ReferenceRow> figure) {
        return rows.stream().mapToDouble(figure).average().orElseThrow();
    }

    @Test
    void ringsOfWholeHostsCarryAtLeastWhatNcclFinds() {
        assertThat(rows)
                .filteredOn(row -> !row.isSplit())
                .hasSizeGreaterThan(80)
                .allSatisfy(row -> assertThat(row.ring()).isGreaterThanOrEqualTo(row.ncclRing() * (1 - ROUNDING)));
    }

    /**
     * No other rings over the host's paths carry more. If the bound is higher than the rings' bandwidth, it counts
     * links that no path uses.
     */
    @Test
    void ringsReachTheSmallestCutOverTheLinksThatPathsUse() {
        assertThat(rows).filteredOn(row -> !row.alone()).allSatisfy(row -> {
            assertThat(row.ring()).isBetween(row.reachable() * (1 - ROUNDING), row.reachable() * (1 + ROUNDING));
            assertThat(row.ring()).isLessThanOrEqualTo(row.bound() * (1 + ROUNDING));
        });
    }

    /** GPUs connected by NVLinks do not use their PCI links to each other. */
    @Test
    void onlyPciLinksBetweenGpusWithNvlinkStayUnused() {
        assertThat(rows)
                .filteredOn(row -> !row.alone() && row.ring() < row.bound() * (1 - ROUNDING))
                .isNotEmpty()
                .allSatisfy(row -> {
                    assertThat(row.networks()).isFalse();
                    assertThat(row.nvLinkOnly()).isTrue();
                });
    }

    @Test
    void ringsReachTheBoundIfNcclFindsNothing() {
        assertThat(rows).filteredOn(ReferenceRow::token).hasSize(6).allSatisfy(row -> {
            assertThat(row.ring()).isGreaterThanOrEqualTo(row.bound() * (1 - ROUNDING));
            assertThat(row.ring()).isGreaterThan(50 * row.ncclRing());
        });
    }

    /**
     * NCCL's figure is for half of the GPUs. JCCL's figure is not lower, whether for these GPUs alone or for all GPUs.
     * The exception is a host whose links between the sockets allow less: its rings use all that these links allow.
     */
    @Test
    void hostsThatNcclSplitsStayWholeAndLoseNothing() {
        assertThat(rows).filteredOn(ReferenceRow::isSplit).hasSize(8).allSatisfy(row -> {
            assertThat(row.ncclRanks()).isEqualTo(row.ranks() / 2);
            assertThat(row.part()).isGreaterThanOrEqualTo(row.ncclRing() * (1 - ROUNDING));
            assertThat(row.ring()).isGreaterThanOrEqualTo(Math.min(row.ncclRing(), row.bound()) * (1 - ROUNDING));
        });
        assertThat(rows)
                .filteredOn(row -> row.isSplit() && row.ring() < row.ncclRing() * (1 - ROUNDING))
                .extracting(ReferenceRow::host)
                .containsExactly("bcm_gen4_nested", "bcm_gen5_nested", "l40s_8gpu_4nic");
        assertThat(rows).filteredOn(row -> row.isSplit() && row.networks()).allSatisfy(row -> assertThat(row.ring())
                .isGreaterThanOrEqualTo(row.ncclRing() * (1 - ROUNDING)));
    }

    @Test
    void treesCarryAtLeastAsMuchAsThoseOfNccl() {
        assertThat(rows)
                .allSatisfy(row -> assertThat(row.tree()).isGreaterThanOrEqualTo(row.ncclTree() * (1 - ROUNDING)));
    }

    /**
     * JCCL's rings carry more than NCCL's on comparable hosts. They also do on all hosts, where NCCL's figure can be
     * for half of a host. If links are charged as NCCL charges them, JCCL's rings carry more by a smaller margin:
     * JCCL's search does not consider these charges.
     */
    @Test
    void ringsCarryMoreThanNcclsOnAverage() {
        assertThat(average(found(), ReferenceRow::ratio)).isGreaterThan(1.035);
        assertThat(average(comparable(), ReferenceRow::ratio)).isGreaterThan(1.05);
        assertThat(average(comparable(), row -> row.charged() / row.ncclRing())).isGreaterThan(1.025);
    }

    /** Rings are not charged a fifth more for peer-to-peer through Intel CPUs, because by default no path uses it. */
    @Test
    void noDeviceUsesGpuMemoryAcrossAnIntelCpu() throws IOException {
        int across = 0;
        for (ReferenceHost host : ReferenceHost.all()) {
            NodePaths paths = host.paths(host.hasNetworks());
            for (int gpu : paths.topology().indexesOf(NodeType.GPU)) {
                for (int other : paths.topology().endpoints()) {
                    if (NcclCharges.crossesIntelCpu(paths.topology(), paths.path(gpu, other))) {
                        assertThat(paths.peerToPeer(gpu, other)).as(host.name()).isFalse();
                        across++;
                    }
                }
                for (int net : paths.topology().indexesOf(NodeType.NET)) {
                    if (NcclCharges.crossesIntelCpu(paths.topology(), paths.path(gpu, net))) {
                        assertThat(paths.gpuDirect(gpu, net, true))
                                .as(host.name())
                                .isFalse();
                        across++;
                    }
                }
            }
        }
        assertThat(across).isGreaterThan(100);
    }
}
