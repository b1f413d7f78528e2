package io.jccl.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.plan.PlannedDevices.Way;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlannedDevicesTest {

    /** Machines of two ranks, each with its own rails. */
    private static Plan plan(List<List<Rail>> railsOfMachines) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int machine = 0; machine < railsOfMachines.size(); machine++) {
            int base = 2 * machine;
            List<Rail> rails = railsOfMachines.get(machine);
            List<List<Integer>> orders = IntStream.range(0, Math.max(1, rails.size()))
                    .mapToObj(channel -> List.of(base, base + 1))
                    .toList();
            ChannelGraph found = Found.rings(12, 12, PathType.PIX, PathType.PIX, true, orders, rails);
            for (int rank : List.of(base, base + 1)) {
                ranks.add(Found.rank(rank, "host-" + machine, true, found, Pattern.BALANCED_TREE));
            }
        }
        return Plan.build(ranks, PlanOptions.defaults());
    }

    private static List<Way> ringWays(Plan plan, int channel, int rank) {
        return PlannedDevices.of(plan, channel, rank).stream()
                .filter(way -> way.to() == (way.from() + 1) % plan.size())
                .distinct()
                .toList();
    }

    @Test
    void aRingLeavesAMachineByItsOneDeviceAndComesInByTheOther() {
        Plan plan = plan(List.of(List.of(new Rail(0, 3)), List.of(new Rail(3, 0))));
        assertThat(ringWays(plan, 0, 1)).containsExactly(new Way(0, 1, 2, 3, 3));
        assertThat(ringWays(plan, 0, 0)).containsExactly(new Way(0, 3, 0, 0, 0));
        assertThat(PlannedDevices.ofOthers(plan, 0, 1)).isEqualTo(new Way(0, 1, 1, 3, 0));
    }

    @Test
    void bothEndsOfEveryWaySayTheSame() {
        Plan plan = plan(List.of(
                List.of(new Rail(0, 1), new Rail(1, 0)),
                List.of(new Rail(1, 1)),
                List.of(new Rail(0, 0), new Rail(1, 1))));
        for (int channel = 0; channel < plan.channels(); channel++) {
            Set<Way> ofSenders = new HashSet<>();
            Set<Way> ofReceivers = new HashSet<>();
            for (int rank = 0; rank < plan.size(); rank++) {
                for (Way way : PlannedDevices.of(plan, channel, rank)) {
                    assertThat(plan.sameMachine(way.from(), way.to())).isFalse();
                    (way.from() == rank ? ofSenders : ofReceivers).add(way);
                }
            }
            // Three machines: three steps of the ring, two edges of the tree either way.
            assertThat(ofSenders).isEqualTo(ofReceivers).hasSizeBetween(4, 7);
        }
    }

    @Test
    void whereAMachineKnowsNoDevicesTheOtherEndIsStillSaid() {
        Plan plan = plan(List.of(List.of(new Rail(2, 2)), List.of()));
        assertThat(ringWays(plan, 0, 1)).containsExactly(new Way(0, 1, 2, 2, PlannedDevices.UNKNOWN));
        assertThat(PlannedDevices.ofOthers(plan, 0, 3))
                .isEqualTo(new Way(0, 3, 3, PlannedDevices.UNKNOWN, PlannedDevices.UNKNOWN));
    }

    @Test
    void insideAMachineThereIsNone() {
        Plan plan = plan(List.of(List.of(new Rail(0, 0))));
        assertThat(PlannedDevices.of(plan, 0, 0)).isEmpty();
    }
}
