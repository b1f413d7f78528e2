package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.search.Pattern;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlanTest {

    @Test
    void oneHostGetsOneRingAndOneChain() {
        Plan plan = Plan.build(ranks("aaaa"), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(1);
        assertThat(plan.hosts()).hasSize(1);
        assertThat(plan.ring(0)).containsExactly(0, 1, 2, 3);
        assertThat(plan.tree(0, 0)).isEqualTo(new TreeLinks(-1, List.of(1)));
        assertThat(plan.tree(0, 2)).isEqualTo(new TreeLinks(1, List.of(3)));
        assertThat(plan.treeDepth(0)).isEqualTo(3);
        assertThat(plan.hostCrossings()).isZero();
    }

    @Test
    void twoHostsGetBothTrees() {
        Plan plan = Plan.build(ranks("abab"), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(plan.ring(0)).containsExactly(0, 2, 1, 3);
        assertThat(plan.tree(0, 0)).isEqualTo(new TreeLinks(-1, List.of(1, 2)));
        assertThat(plan.tree(1, 1)).isEqualTo(new TreeLinks(-1, List.of(0, 3)));
        assertThat(plan.sameHost(0, 2)).isTrue();
        assertThat(plan.sameHost(0, 1)).isFalse();
        assertThat(plan.hostOf(3).hostId()).isEqualTo("b");
        assertThat(plan.hostCrossings()).isEqualTo(2);
    }

    @Test
    void eachHostAttachesItsTreesAsItsOwnSearchFound() {
        List<RankChannels> ranks = new ArrayList<>();
        for (RankChannels rank : ranks("aabbcc")) {
            Pattern shape = rank.hostId().equals("a") ? Pattern.SPLIT_TREE : Pattern.TREE;
            ranks.add(Found.rank(rank.rank(), rank.hostId(), false, rank.rings(), shape));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        // In the first tree of three hosts, host 0 is above host 2, and host 2 above host 1.
        assertThat(plan.tree(0, 0).down()).containsExactly(1);
        assertThat(plan.tree(0, 1).down()).containsExactly(4);
        assertThat(plan.tree(0, 4).down()).containsExactly(2, 5);
    }

    @Test
    void usesTheOrdersThatWereFound() {
        List<List<Integer>> orders = List.of(List.of(2, 0, 1), List.of(1, 2, 0));
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            ranks.add(rank(rank, "a", orders, List.of(List.of(1, 0, 2))));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(plan.ring(0)).containsExactly(2, 0, 1);
        assertThat(plan.ring(1)).containsExactly(1, 2, 0);
        assertThat(plan.tree(1, 1)).isEqualTo(new TreeLinks(-1, List.of(0)));
    }

    @Test
    void keepsToTheChannelBounds() {
        assertThat(Plan.build(ranks("ab"), new PlanOptions(1, 1)).channels()).isEqualTo(1);
        assertThat(Plan.build(ranks("ab"), new PlanOptions(7, 7)).channels()).isEqualTo(7);
        assertThatThrownBy(() -> new PlanOptions(3, 2)).hasMessageContaining("minChannels=3");
    }

    @Test
    void thousandsOfHostsArePlannedInLinearTimeAndLogarithmicDepth() {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 4096 * 8; rank++) {
            ranks.add(Found.rank(rank, "machine-" + rank / 8));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.hosts()).hasSize(4096);
        assertThat(plan.treeDepth(0)).isLessThanOrEqualTo(2 * 12 + 7);
        long roots = IntStream.range(0, plan.size())
                .filter(rank -> plan.tree(1, rank).isRoot())
                .count();
        assertThat(roots).isEqualTo(1);
    }

    @Test
    void refusesRanksThatAreMissingDoubledOrOutOfOrder() {
        assertThatThrownBy(() -> Plan.build(List.of(), PlanOptions.defaults())).hasMessageContaining("at least one");
        assertThatThrownBy(() -> build(Found.rank(0, "a"), Found.rank(0, "a")))
                .hasMessageContaining("rank=0: given twice");
        assertThatThrownBy(() -> build(Found.rank(0, "a"), Found.rank(2, "a")))
                .hasMessageContaining("rank=2: expected 0 to 1");
        List<List<Integer>> wrong = List.of(List.of(0, 0));
        assertThatThrownBy(() -> build(rank(0, "a", wrong, List.of()), Found.rank(1, "a")))
                .hasMessageContaining("expected a permutation of its ranks [0, 1]");
    }

    private static Plan build(RankChannels... ranks) {
        return Plan.build(List.of(ranks), PlanOptions.defaults());
    }

    private static RankChannels rank(int rank, String host, List<List<Integer>> rings, List<List<Integer>> trees) {
        return new RankChannels(
                rank, host, false, Found.rings(rings), Found.trees(Pattern.BALANCED_TREE, Found.rings(trees)));
    }

    private static List<RankChannels> ranks(String hosts) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < hosts.length(); rank++) {
            ranks.add(Found.rank(rank, hosts.substring(rank, rank + 1)));
        }
        return ranks;
    }
}
