package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.Rail;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import org.junit.jupiter.api.Test;

class NetworkLimitsTest {

    /** Each of the two channels found by the search serves two channels of the plan, so every device carries two. */
    @Test
    void aPlanThatExceedsMaxconnOfADeviceNamesTheRemedy() {
        Plan plan = Plan.build(Found.twoHosts(new Rail(0, 0), new Rail(1, 1)), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(4);
        assertThat(NetworkLimits.notes(plan, 0, host(1, 2)))
                .containsExactly(
                        "maxconn is exceeded by NET/0 (mlx0) 2 of 1, because the plan carries each found channel by"
                                + " several of its own; JCCL_MAX_NCHANNELS=1 prevents that");
        assertThat(NetworkLimits.notes(plan, 1, host(1, 1)))
                .singleElement()
                .asString()
                .contains("NET/0 (mlx0) 2 of 1, NET/1 (mlx1) 2 of 1,");
    }

    @Test
    void theRemedyKeepsThePlanWithinMaxconn() {
        Plan plan = Plan.build(Found.twoHosts(new Rail(0, 0), new Rail(1, 1)), new PlanOptions(1, 1));
        assertThat(NetworkLimits.notes(plan, 0, host(1, 1))).isEmpty();
    }

    @Test
    void aDeviceWithMaxconn0IsNamedAndOneWithoutLimitIsNot() {
        Plan plan = Plan.build(Found.twoHosts(new Rail(0, 0), new Rail(1, 1)), PlanOptions.defaults());
        assertThat(NetworkLimits.notes(plan, 0, host(-1, 0)))
                .containsExactly("NET/1 (mlx1) maxconn=0: no channel uses it");
    }

    private static Topology host(int first, int second) {
        String nets = "<nic><net name='mlx0' dev='0' speed='100000' maxconn='" + first + "'/>"
                + "<net name='mlx1' dev='1' speed='100000' maxconn='" + second + "'/></nic>";
        return GraphBuilder.build(TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0' arch='x86_64'>" + nets + "</cpu></system>"));
    }
}
