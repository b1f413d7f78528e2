package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.planning.DoubleBinaryTree;
import io.jccl.planning.Plan;
import io.jccl.planning.PlanOptions;
import io.jccl.planning.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostTreeTest {

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 8, 64, 200})
    void treesOfThePlanSpanAllHosts(int hosts) {
        TopologyReport report = Reports.of(Reports.host(1, 1, 2, Reports.Fabric.SWITCH), hosts);
        Plan plan = report.plan().orElseThrow();
        List<HostTree> trees = HostTree.of(plan);
        assertThat(trees.stream().mapToInt(tree -> tree.channels().size()).sum())
                .isEqualTo(plan.channels());
        for (HostTree tree : trees) {
            assertThat(tree.up()).hasSize(hosts).containsOnlyOnce(-1);
            assertThat(tree.below().stream().mapToInt(List::size).sum()).isEqualTo(hosts - 1);
            assertThat(tree.depth()).isBetween(1, 33 - Integer.numberOfLeadingZeros(hosts));
        }
    }

    private static ChannelGraph found(Pattern pattern) {
        return new ChannelGraph(pattern, 1, 1, PathType.PHB, PathType.PHB, false, List.of(), List.of());
    }

    /** Hosts with 8, 4, 1, 3 and 16 ranks, which are numbered in random order. */
    @Test
    void hostsOfUnequalSizesKeepTheirPlacesInTheTrees() {
        for (int seed = 0; seed < 50; seed++) {
            List<String> hosts = new ArrayList<>();
            int[] sizes = {8, 4, 1, 3, 16};
            for (int host = 0; host < sizes.length; host++) {
                hosts.addAll(Collections.nCopies(sizes[host], "host-" + host));
            }
            if (seed > 0) {
                Collections.shuffle(hosts, new Random(seed));
            }
            List<RankChannels> ranks = new ArrayList<>();
            hosts.forEach(host ->
                    ranks.add(new RankChannels(ranks.size(), host, false, found(Pattern.RING), found(Pattern.TREE))));
            Plan plan = Plan.build(ranks, new PlanOptions(4, 4));
            DoubleBinaryTree shape = new DoubleBinaryTree(sizes.length);
            for (HostTree tree : HostTree.of(plan)) {
                for (int host = 0; host < sizes.length; host++) {
                    assertThat(tree.up().get(host))
                            .isEqualTo(shape.parent(tree.channels().get(0) % 2, host));
                }
            }
        }
    }
}
