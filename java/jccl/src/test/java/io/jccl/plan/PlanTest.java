package io.jccl.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlanTest {

    @Test
    void one_machine_gets_one_ring_and_one_chain() {
        Plan plan = Plan.build(ranks("aaaa"), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(1);
        assertThat(plan.machines()).hasSize(1);
        assertThat(plan.ring(0)).containsExactly(0, 1, 2, 3);
        assertThat(plan.tree(0, 0)).isEqualTo(new TreeLinks(-1, List.of(1)));
        assertThat(plan.tree(0, 2)).isEqualTo(new TreeLinks(1, List.of(3)));
        assertThat(plan.treeDepth(0)).isEqualTo(3);
        assertThat(plan.machineCrossings()).isZero();
    }

    @Test
    void two_machines_get_both_trees() {
        Plan plan = Plan.build(ranks("abab"), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(plan.ring(0)).containsExactly(0, 2, 1, 3);
        assertThat(plan.tree(0, 0)).isEqualTo(new TreeLinks(-1, List.of(1, 2)));
        assertThat(plan.tree(1, 1)).isEqualTo(new TreeLinks(-1, List.of(0, 3)));
        assertThat(plan.sameMachine(0, 2)).isTrue();
        assertThat(plan.sameMachine(0, 1)).isFalse();
        assertThat(plan.machineOf(3).hostId()).isEqualTo("b");
        assertThat(plan.machineCrossings()).isEqualTo(2);
    }

    @Test
    void tree_shapes_differ_in_who_talks_to_the_machines_below() {
        List<RankChannels> ranks = ranks("aabbcc");
        Plan chain = Plan.build(ranks, new PlanOptions(1, 2, TreeShape.CHAIN));
        Plan split = Plan.build(ranks, new PlanOptions(1, 2, TreeShape.SPLIT));
        // The first tree of three machines: 0 above 2 above 1.
        assertThat(chain.tree(0, 0).down()).containsExactly(4, 1);
        assertThat(split.tree(0, 0).down()).containsExactly(1);
        assertThat(split.tree(0, 1).down()).containsExactly(4);
    }

    @Test
    void uses_the_orders_that_were_found() {
        List<List<Integer>> orders = List.of(List.of(2, 0, 1), List.of(1, 2, 0));
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            ranks.add(new RankChannels(rank, "a", orders, List.of(List.of(1, 0, 2))));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(plan.ring(0)).containsExactly(2, 0, 1);
        assertThat(plan.ring(1)).containsExactly(1, 2, 0);
        assertThat(plan.tree(1, 1)).isEqualTo(new TreeLinks(-1, List.of(0)));
    }

    @Test
    void keeps_to_the_channel_bounds() {
        assertThat(Plan.build(ranks("ab"), new PlanOptions(1, 1, TreeShape.CHAIN))
                        .channels())
                .isEqualTo(1);
        assertThat(Plan.build(ranks("ab"), PlanOptions.defaults().withChannels(7))
                        .channels())
                .isEqualTo(7);
        assertThatThrownBy(() -> new PlanOptions(3, 2, TreeShape.CHAIN)).hasMessageContaining("minChannels=3");
    }

    /** Any ranks on any machines in any order, with as many random orders as each machine likes. */
    @Test
    void random_shapes_give_rings_that_visit_and_trees_that_span() {
        Random random = new Random(11);
        for (int round = 0; round < 400; round++) {
            List<RankChannels> ranks = randomRanks(random);
            int least = 1 + random.nextInt(4);
            TreeShape shape = TreeShape.values()[random.nextInt(3)];
            PlanOptions options = new PlanOptions(least, least + random.nextInt(8), shape);
            Plan plan = Plan.build(ranks, options);
            assertThat(plan.channels()).isBetween(options.minChannels(), options.maxChannels());
            for (int channel = 0; channel < plan.channels(); channel++) {
                checkRing(plan, channel);
                checkTree(plan, channel);
            }
            Collections.shuffle(ranks, random);
            assertSame(plan, Plan.build(ranks, options));
        }
    }

    @Test
    void thousands_of_machines_are_planned_in_linear_time_and_logarithmic_depth() {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 4096 * 8; rank++) {
            ranks.add(new RankChannels(rank, "machine-" + rank / 8));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.machines()).hasSize(4096);
        assertThat(plan.treeDepth(0)).isLessThanOrEqualTo(2 * 12 + 7);
        long roots = IntStream.range(0, plan.size())
                .filter(rank -> plan.tree(1, rank).isRoot())
                .count();
        assertThat(roots).isEqualTo(1);
    }

    @Test
    void refuses_ranks_that_are_missing_doubled_or_out_of_order() {
        assertThatThrownBy(() -> Plan.build(List.of(), PlanOptions.defaults())).hasMessageContaining("at least one");
        assertThatThrownBy(() -> build(new RankChannels(0, "a"), new RankChannels(0, "a")))
                .hasMessageContaining("rank=0: given twice");
        assertThatThrownBy(() -> build(new RankChannels(0, "a"), new RankChannels(2, "a")))
                .hasMessageContaining("rank=2: expected 0 to 1");
        List<List<Integer>> wrong = List.of(List.of(0, 0));
        assertThatThrownBy(() -> build(new RankChannels(0, "a", wrong, List.of()), new RankChannels(1, "a")))
                .hasMessageContaining("expected a permutation of its ranks [0, 1]");
    }

    private static Plan build(RankChannels... ranks) {
        return Plan.build(List.of(ranks), PlanOptions.defaults());
    }

    private static void assertSame(Plan one, Plan other) {
        for (int channel = 0; channel < one.channels(); channel++) {
            assertThat(other.ring(channel)).isEqualTo(one.ring(channel));
            for (int rank = 0; rank < one.size(); rank++) {
                assertThat(other.tree(channel, rank)).isEqualTo(one.tree(channel, rank));
            }
        }
    }

    private static void checkRing(Plan plan, int channel) {
        int[] ring = plan.ring(channel);
        Set<Integer> visited = new HashSet<>();
        int crossings = 0;
        for (int i = 0; i < ring.length; i++) {
            visited.add(ring[i]);
            if (!plan.sameMachine(ring[i], ring[(i + 1) % ring.length])) {
                crossings++;
            }
        }
        assertThat(ring).hasSize(plan.size());
        assertThat(visited).hasSize(plan.size());
        assertThat(crossings).isEqualTo(plan.machineCrossings());
    }

    private static void checkTree(Plan plan, int channel) {
        int roots = 0;
        int edges = 0;
        for (int rank = 0; rank < plan.size(); rank++) {
            TreeLinks links = plan.tree(channel, rank);
            if (links.isRoot()) {
                roots++;
            } else {
                assertThat(plan.tree(channel, links.up()).down()).contains(rank);
            }
            for (int child : links.downRanks()) {
                assertThat(plan.tree(channel, child).up()).isEqualTo(rank);
                edges++;
            }
        }
        assertThat(roots).isEqualTo(1);
        assertThat(edges).isEqualTo(plan.size() - 1);
        // One root, n-1 edges and a depth below n: no rank is in a circle.
        assertThat(plan.treeDepth(channel)).isLessThan(plan.size());
    }

    private static List<RankChannels> ranks(String hosts) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < hosts.length(); rank++) {
            ranks.add(new RankChannels(rank, hosts.substring(rank, rank + 1)));
        }
        return ranks;
    }

    private static List<RankChannels> randomRanks(Random random) {
        int size = 1 + random.nextInt(24);
        int machines = 1 + random.nextInt(size);
        List<List<Integer>> members = new ArrayList<>();
        for (int machine = 0; machine < machines; machine++) {
            members.add(new ArrayList<>());
        }
        for (int rank = 0; rank < size; rank++) {
            members.get(random.nextInt(machines)).add(rank);
        }
        List<RankChannels> ranks = new ArrayList<>();
        for (int machine = 0; machine < machines; machine++) {
            List<List<Integer>> orders = new ArrayList<>();
            for (int channel = random.nextInt(4); channel > 0; channel--) {
                List<Integer> order = new ArrayList<>(members.get(machine));
                Collections.shuffle(order, random);
                orders.add(order);
            }
            for (int rank : members.get(machine)) {
                ranks.add(new RankChannels(rank, "host" + machine, orders, random.nextBoolean() ? orders : List.of()));
            }
        }
        return ranks;
    }
}
