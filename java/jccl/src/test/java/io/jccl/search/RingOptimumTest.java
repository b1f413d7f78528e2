package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.Seeds;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how close the found rings, all of one bandwidth, come to the best rings that may differ in bandwidth. */
@Timeout(300)
class RingOptimumTest {

    private static final double ROUNDING = 2e-6;

    private static double found(NodePaths paths, boolean networks) {
        SearchOptions options = SearchOptions.forGpus(paths.topology(), networks);
        return new ChannelSearch(paths, options).search(Pattern.RING).interBandwidthGBps();
    }

    /** Returns the bandwidth of the found rings as a share of the optimum. */
    private static double share(NodePaths paths, boolean networks, String what) {
        double found = found(paths, networks);
        double optimum = RingOptimum.of(paths, networks, found);
        assertThat(found).as(what + " optimum=" + optimum).isLessThanOrEqualTo(optimum * (1 + ROUNDING));
        return found / optimum;
    }

    @ParameterizedTest
    @CsvSource({
        "cube-mesh, false",
        "cube-mesh, true",
        "rails, false",
        "rails, true",
        "two-sockets, false",
        "two-sockets, true",
        "shared-port, false",
        "shared-port, true"
    })
    void noOtherRingsCarryMoreOnHostsOfKnownKinds(String host, boolean networks) {
        assertThat(share(DescribedHostsSearchTest.paths(host, networks), networks, host))
                .isGreaterThan(1 - ROUNDING);
    }

    /** Skipped if the shared material is missing. */
    @Test
    void noOtherRingsCarryMoreOnTheHostsThatNcclIsComparedOn() throws IOException {
        int searched = 0;
        for (ReferenceHost host : ReferenceHost.all()) {
            for (boolean networks : new boolean[] {false, true}) {
                NodePaths paths = host.paths(networks);
                boolean alone = paths.topology().endpoints().size() == 1 && !networks;
                if (!alone && (host.hasNetworks() || !networks)) {
                    assertThat(share(paths, networks, host.name()))
                            .as(host.name() + " networks=" + networks)
                            .isGreaterThan(1 - ROUNDING);
                    searched++;
                }
            }
        }
        assertThat(searched).isEqualTo(87);
    }

    /**
     * Random hosts, unlike known ones, have links of all speeds in unusual places. Channels of one bandwidth cannot
     * fill them all.
     */
    @ParameterizedTest
    @CsvSource({"false, 0.98, 0.85", "true, 0.95, 0.7"})
    void ringsOfRandomHostsComeClose(boolean networks, double meanShare, double atOptimum) {
        int all = 0;
        int equal = 0;
        double sum = 0;
        double lowest = 1;
        double ofCut = 0;
        for (int seed = 0; seed < Seeds.of(400); seed++) {
            NodePaths paths = RandomHostsTest.paths(seed, 8, networks);
            boolean hasNets = !paths.topology().indexesOf(NodeType.NET).isEmpty();
            if (networks ? hasNets : paths.topology().endpoints().size() > 1) {
                double share = share(paths, networks, "seed=" + seed);
                all++;
                equal += share > 1 - ROUNDING ? 1 : 0;
                sum += share;
                lowest = Math.min(lowest, share);
                ofCut += found(paths, networks) / CutBound.ofRings(paths.topology(), networks);
            }
        }
        System.out.printf(
                "networks=%b hosts=%d at_optimum=%d mean=%.4f lowest=%.3f mean_of_cut=%.4f%n",
                networks, all, equal, sum / all, lowest, ofCut / all);
        assertThat(sum / all).isGreaterThan(meanShare);
        assertThat((double) equal / all).isGreaterThan(atOptimum);
    }
}
