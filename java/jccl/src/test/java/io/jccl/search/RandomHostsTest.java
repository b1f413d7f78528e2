package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.Seeds;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests, on thousands of random hosts, requirements on the search that hold for every host. */
@Timeout(300)
class RandomHostsTest {

    private static final long STEPS = 20_000;

    @Test
    void channelsCanBeCarriedAndCostNoMoreStepsThanAllowed() {
        for (int seed = 0; seed < Seeds.of(2000); seed++) {
            searchBothCases(seed, 8, STEPS);
        }
    }

    @Test
    void channelsCanBeCarriedOnHostsWithTooManyGpusToTryAllOrders() {
        for (int seed = 0; seed < Seeds.of(300); seed++) {
            searchBothCases(seed, 40, STEPS);
        }
    }

    @Test
    void aSearchWithoutStepsStillFindsChannels() {
        for (int seed = 0; seed < Seeds.of(500); seed++) {
            searchBothCases(seed, 14, 0);
        }
    }

    @Test
    void aRepeatedSearchFindsTheSame() {
        for (int seed = 0; seed < Seeds.of(300); seed++) {
            assertThat(searchBothCases(seed, 12, STEPS)).isEqualTo(searchBothCases(seed, 12, STEPS));
        }
    }

    @Test
    void ringsComeCloseToTheBoundOfTheSmallestCut() {
        int close = 0;
        int all = 0;
        for (int seed = 0; seed < Seeds.of(400); seed++) {
            NodePaths paths = paths(seed, 8, false);
            if (paths.topology().endpoints().size() > 1) {
                SearchOptions options =
                        SearchOptions.forGpus(paths.topology(), false).withSteps(1_000_000);
                double total =
                        new ChannelSearch(paths, options).search(Pattern.RING).totalBandwidthGBps();
                double bound = CutBound.ofRings(paths.topology(), false);
                assertThat(total).isLessThanOrEqualTo(bound * (1 + 1e-9));
                all++;
                close += total > 0.9 * bound ? 1 : 0;
            }
        }
        assertThat((double) close / all).isGreaterThan(0.6);
    }

    private static List<ChannelGraph> searchBothCases(long seed, int maxGpus, long steps) {
        List<ChannelGraph> found = new ArrayList<>();
        for (boolean networks : new boolean[] {false, true}) {
            NodePaths paths = paths(seed, maxGpus, networks);
            SearchOptions options =
                    SearchOptions.forGpus(paths.topology(), networks).withSteps(steps);
            ChannelSearch search = new ChannelSearch(paths, options);
            String what = "seed=" + seed + " networks=" + networks;
            ChannelGraph rings = search.search(Pattern.RING);
            assertThat(search.steps()).as(what).isLessThanOrEqualTo(search.maxSteps());
            ChannelChecker.check(paths, rings, what);
            ChannelGraph trees = search.searchTree(rings);
            ChannelChecker.check(paths, trees, what);
            assertThat(trees.channels()).as(what).isEqualTo(rings.channels());
            found.add(rings);
            found.add(trees);
        }
        return found;
    }

    static NodePaths paths(long seed, int maxGpus, boolean networks) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(RandomHost.description(seed, maxGpus)));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, networks));
    }
}
