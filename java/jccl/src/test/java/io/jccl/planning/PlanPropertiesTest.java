package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Checks the plans of thousands of random sets of hosts. */
class PlanPropertiesTest {

    private static final int ROUNDS = 3000;

    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void everyPlanHasRingsThatVisitAllAndComplementaryTreesThatSpan() {
        for (int round = 0; round < ROUNDS; round++) {
            Random random = new Random(round);
            int hosts = 1 + random.nextInt(round % 4 == 0 ? 40 : 6);
            List<RankChannels> ranks = new RandomHosts(random, hosts).ranks();
            int min = random.nextInt(3) == 0 ? 1 + random.nextInt(8) : 1;
            int max = random.nextInt(3) == 0 ? min + random.nextInt(20) : 2 + min;
            PlanOptions options = new PlanOptions(min, max);
            Plan plan = Plan.build(ranks, options);
            assertThat(plan.hosts()).hasSize(hosts);
            assertThat(plan.channels()).isBetween(min, max);
            PlanChecks.check(plan);
        }
    }

    @Test
    void thePlanDoesNotDependOnTheOrderInWhichRanksAreGiven() {
        for (int round = 0; round < 300; round++) {
            Random random = new Random(-round);
            List<RankChannels> ranks = new RandomHosts(random, 1 + random.nextInt(8)).ranks();
            Plan plan = Plan.build(ranks, PlanOptions.defaults());
            Collections.shuffle(ranks, random);
            PlanChecks.assertSame(plan, Plan.build(ranks, PlanOptions.defaults()));
        }
    }

    /**
     * If several channels of the plan use one channel of a host, they share its bandwidth. Computes this limit from the
     * input.
     */
    @Test
    void noHostMustCarryMoreThanItsSearchFound() {
        for (int round = 0; round < 1000; round++) {
            Random random = new Random(7000 + round);
            List<RankChannels> ranks = new RandomHosts(random, 1 + random.nextInt(12)).ranks();
            Plan plan = Plan.build(ranks, PlanOptions.defaults());
            for (RankChannels rank : ranks) {
                int lowest = plan.hostOf(rank.rank()).ranks().get(0);
                int rings = Math.max(1, ranks.get(lowest).rings().orders().size());
                requireCarried(plan, plan.ringGraph(), rank.rings(), rings);
                int trees = ranks.get(lowest).trees().orders().size();
                requireCarried(plan, plan.treeGraph(), rank.trees(), trees == 0 ? rings : trees);
            }
        }
    }

    private static void requireCarried(Plan plan, GraphSummary agreed, ChannelGraph brought, int found) {
        double uses = Math.ceil((double) agreed.channels() / found);
        assertThat(agreed.bwIntra() * uses).isLessThanOrEqualTo(brought.bwIntra() * (1 + 1e-9));
        if (plan.hosts().size() > 1) {
            assertThat(agreed.bwInter() * uses).isLessThanOrEqualTo(brought.bwInter() * (1 + 1e-9));
        }
        assertThat(agreed.typeIntra()).isGreaterThanOrEqualTo(brought.typeIntra());
    }

    /** In each host, the ring of every channel of the plan has an order that the host's search found. */
    @Test
    void ringsConsistOfOrdersThatWereFound() {
        for (int round = 0; round < 500; round++) {
            List<RankChannels> ranks = new RandomHosts(new Random(90_000 + round), 1 + round % 9).ranks();
            Plan plan = Plan.build(ranks, PlanOptions.defaults());
            for (int channel = 0; channel < plan.channels(); channel++) {
                int at = 0;
                for (PlannedHost host : plan.hosts()) {
                    List<Integer> part = new ArrayList<>();
                    for (int i = 0; i < host.ranks().size(); i++) {
                        part.add(plan.ring(channel)[at++]);
                    }
                    List<List<Integer>> found =
                            ranks.get(host.ranks().get(0)).rings().orders();
                    assertThat(found.isEmpty() ? List.of(host.ranks()) : found).contains(part);
                }
            }
        }
    }

    @Test
    @Timeout(value = 20, unit = TimeUnit.SECONDS)
    void aThousandRanksArePlannedWithoutDelay() {
        for (int perHost : new int[] {1, 8, 16}) {
            List<RankChannels> ranks = new ArrayList<>();
            for (int host = 0; host < 1024 / perHost; host++) {
                ranks.addAll(railHost(host, perHost, 32));
            }
            long start = System.nanoTime();
            Plan plan = Plan.build(ranks, PlanOptions.defaults());
            assertThat(plan.size()).isEqualTo(1024);
            assertThat(plan.channels()).isEqualTo(PlanOptions.CHANNEL_LIMIT);
            // Planning takes about 50 ms. The limit of 5 s detects costs that grow with the square of the number of
            // ranks or hosts.
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(5));
        }
    }

    private static List<RankChannels> railHost(int host, int members, int channels) {
        List<List<Integer>> orders = new ArrayList<>();
        List<Rail> rails = new ArrayList<>();
        for (int channel = 0; channel < channels; channel++) {
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < members; i++) {
                order.add(host * members + (i + channel) % members);
            }
            orders.add(order);
            rails.add(new Rail(channel % 8, channel % 8));
        }
        ChannelGraph found = Found.rings(24, 24, PathType.NVL, PathType.PIX, false, orders, rails);
        List<RankChannels> ranks = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            ranks.add(Found.rank(host * members + i, "host-" + host, true, found, Pattern.BALANCED_TREE));
        }
        return ranks;
    }
}
