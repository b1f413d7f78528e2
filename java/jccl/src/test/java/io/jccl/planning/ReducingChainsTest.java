package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests the chains of ranks that lead to a network that reduces (CollNet). */
class ReducingChainsTest {

    @Test
    void eachChannelHasItsOwnChain() {
        Plan plan = Plan.build(Found.twoHosts(new Rail(0, 0), new Rail(1, 1)), PlanOptions.defaults());
        assertThat(plan.chain(0, 0)).containsExactly(0, 1);
        assertThat(plan.chain(1, 0)).containsExactly(1, 0);
        assertThat(plan.chain(1, 1)).containsExactly(3, 2);
        assertThat(plan.chain(2, 1)).containsExactly(2, 3);
    }

    /** The chains of one channel are on one rail, whatever the order in which each host found its chains. */
    @Test
    void separatelyFoundChainsAreMatchedByRails() {
        List<RankChannels> ranks = new ArrayList<>();
        for (RankChannels rank : Found.twoHosts(new Rail(0, 0), new Rail(1, 1))) {
            boolean first = rank.hostId().equals("host-0");
            List<Integer> order = rank.rings().orders().get(0);
            List<Integer> back = rank.rings().orders().get(1);
            ChannelGraph chains = new ChannelGraph(
                    Pattern.TREE,
                    12,
                    12,
                    PathType.PIX,
                    PathType.PIX,
                    false,
                    first ? List.of(order, back) : List.of(back, order),
                    first ? List.of(new Rail(2, 2), new Rail(3, 3)) : List.of(new Rail(3, 3), new Rail(2, 2)));
            ranks.add(new RankChannels(
                    rank.rank(), rank.hostId(), true, rank.rings(), rank.trees(), Optional.of(chains)));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.chain(0, 0)).containsExactly(0, 1);
        assertThat(plan.chain(0, 1)).containsExactly(2, 3);
        assertThat(plan.chain(1, 0)).containsExactly(1, 0);
        assertThat(plan.chain(1, 1)).containsExactly(3, 2);
        assertThat(plan.chain(2, 1)).containsExactly(2, 3);
    }

    @Test
    void theTreeOfAHostBeginsWithTheChain() {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 9; rank++) {
            ranks.add(Found.rank(rank, rank < 8 ? "a" : "b"));
        }
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.chain(0, 0)).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(plan.hostTree(0, 0)).isEqualTo(new TreeLinks(-1, List.of(1, 2, 3)));
        assertThat(plan.hostTree(0, 1)).isEqualTo(new TreeLinks(0, List.of(4, 5, 6)));
        assertThat(plan.hostTree(0, 2)).isEqualTo(new TreeLinks(0, List.of(7)));
        assertThat(plan.hostTree(0, 3)).isEqualTo(new TreeLinks(0, List.of()));
        assertThat(plan.hostTree(0, 7)).isEqualTo(new TreeLinks(2, List.of()));
        assertThat(plan.hostTree(0, 8)).isEqualTo(new TreeLinks(-1, List.of()));
    }

    @Test
    void chainsFollowTheRanksIfNoDevicesAreKnown() {
        List<RankChannels> ranks = List.of(Found.rank(0, "a"), Found.rank(1, "a"), Found.rank(2, "b"));
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.chain(0, 0)).containsExactly(0, 1);
        assertThat(plan.chain(0, 1)).containsExactly(2);
    }
}
