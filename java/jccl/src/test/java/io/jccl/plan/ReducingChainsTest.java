package io.jccl.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.Rail;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Chains to a network that reduces. */
class ReducingChainsTest {

    private static Plan plan(boolean firstReduces, boolean secondReduces) {
        return Plan.build(
                Found.twoHosts(new Rail(0, 0, firstReduces), new Rail(1, 1, secondReduces)), PlanOptions.defaults());
    }

    @Test
    void eachChannelHasAChainOfItsOwn() {
        for (boolean reduces : List.of(false, true)) {
            Plan plan = plan(reduces, reduces);
            assertThat(plan.chain(0, 0)).containsExactly(0, 1);
            assertThat(plan.chain(1, 0)).containsExactly(1, 0);
            assertThat(plan.chain(1, 1)).containsExactly(3, 2);
            assertThat(plan.chain(2, 1)).containsExactly(2, 3);
        }
    }

    @Test
    void theyUseTheDevicesBehindWhichItReduces() {
        Plan plan = plan(false, true);
        for (int channel = 0; channel < 3; channel++) {
            assertThat(plan.chain(channel, 0)).containsExactly(1, 0);
            assertThat(plan.chain(channel, 1)).containsExactly(3, 2);
        }
    }

    @Test
    void withoutKnownDevicesTheyFollowTheRanks() {
        List<RankChannels> ranks = List.of(Found.rank(0, "a"), Found.rank(1, "a"), Found.rank(2, "b"));
        Plan plan = Plan.build(ranks, PlanOptions.defaults());
        assertThat(plan.chain(0, 0)).containsExactly(0, 1);
        assertThat(plan.chain(0, 1)).containsExactly(2);
    }
}
