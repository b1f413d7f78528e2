package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.planning.PlannedDevices.NetworkPath;
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

    /** Returns a plan of hosts with two ranks each. Every host has its own rails. */
    private static Plan plan(List<List<Rail>> railsOfHosts) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int host = 0; host < railsOfHosts.size(); host++) {
            int base = 2 * host;
            List<Rail> rails = railsOfHosts.get(host);
            List<List<Integer>> orders = IntStream.range(0, Math.max(1, rails.size()))
                    .mapToObj(channel -> List.of(base, base + 1))
                    .toList();
            ChannelGraph found = Found.rings(12, 12, PathType.PIX, PathType.PIX, true, orders, rails);
            for (int rank : List.of(base, base + 1)) {
                ranks.add(Found.rank(rank, "host-" + host, true, found, Pattern.BALANCED_TREE));
            }
        }
        return Plan.build(ranks, PlanOptions.defaults());
    }

    private static List<NetworkPath> ringPaths(Plan plan, int channel, int rank) {
        return PlannedDevices.of(plan, channel, rank).stream()
                .filter(path -> path.to() == (path.from() + 1) % plan.size())
                .distinct()
                .toList();
    }

    @Test
    void aRingLeavesAHostByOneDeviceAndEntersItByTheOther() {
        Plan plan = plan(List.of(List.of(new Rail(0, 3)), List.of(new Rail(3, 0))));
        assertThat(ringPaths(plan, 0, 1)).containsExactly(new NetworkPath(0, 1, 2, 3, 3));
        assertThat(ringPaths(plan, 0, 0)).containsExactly(new NetworkPath(0, 3, 0, 0, 0));
        assertThat(PlannedDevices.ofOthers(plan, 0, 1)).isEqualTo(new NetworkPath(0, 1, 1, 3, 0));
    }

    @Test
    void bothEndsOfEveryPathNameTheSameDevices() {
        Plan plan = plan(List.of(
                List.of(new Rail(0, 1), new Rail(1, 0)),
                List.of(new Rail(1, 1)),
                List.of(new Rail(0, 0), new Rail(1, 1))));
        for (int channel = 0; channel < plan.channels(); channel++) {
            Set<NetworkPath> ofSenders = new HashSet<>();
            Set<NetworkPath> ofReceivers = new HashSet<>();
            for (int rank = 0; rank < plan.size(); rank++) {
                for (NetworkPath path : PlannedDevices.of(plan, channel, rank)) {
                    assertThat(plan.sameHost(path.from(), path.to())).isFalse();
                    (path.from() == rank ? ofSenders : ofReceivers).add(path);
                }
            }
            // Three hosts: three steps of the ring, and two edges of the tree in both directions.
            assertThat(ofSenders).isEqualTo(ofReceivers).hasSizeBetween(4, 7);
        }
    }

    @Test
    void theDeviceOfAnEndIsNamedEvenIfTheOtherHostKnowsNone() {
        Plan plan = plan(List.of(List.of(new Rail(2, 2)), List.of()));
        assertThat(ringPaths(plan, 0, 1)).containsExactly(new NetworkPath(0, 1, 2, 2, PlannedDevices.UNKNOWN));
        assertThat(PlannedDevices.ofOthers(plan, 0, 3))
                .isEqualTo(new NetworkPath(0, 3, 3, PlannedDevices.UNKNOWN, PlannedDevices.UNKNOWN));
    }

    @Test
    void aPlanOfOneHostHasNoNetworkPaths() {
        Plan plan = plan(List.of(List.of(new Rail(0, 0))));
        assertThat(PlannedDevices.of(plan, 0, 0)).isEmpty();
    }
}
