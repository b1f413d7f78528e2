package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.init.DirectSlots.Devices;
import io.jccl.init.DirectSlots.Use;
import io.jccl.planning.Found;
import io.jccl.planning.Plan;
import io.jccl.planning.PlanOptions;
import io.jccl.planning.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DirectSlotsTest {

    private static final Devices BOTH = new Devices(Set.of(0), Set.of(0), Map.of());

    /** Returns a plan of two hosts with two ranks each. Every host has network device 0. */
    private static Plan plan() {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            int base = rank / 2 * 2;
            ChannelGraph found = Found.rings(
                    12,
                    12,
                    PathType.PIX,
                    PathType.PIX,
                    true,
                    List.of(List.of(base, base + 1)),
                    List.of(new Rail(0, 0)));
            ranks.add(Found.rank(rank, "host-" + base, true, found, Pattern.BALANCED_TREE));
        }
        return Plan.build(ranks, PlanOptions.defaults());
    }

    private static List<Use> uses(Plan plan, int rank, Devices devices) {
        return DirectSlots.of(plan, plan.channels(), rank, devices, peer -> true);
    }

    @Test
    void devicesNearAGpuUseItsMemoryAndDevicesNearANeighbourSendFromTheNeighbours() {
        NodePaths paths = NodePaths.compute(DescribedHosts.topology("gpu4-nvswitch"), PathPolicy.defaults());
        assertThat(Devices.of(paths, 0)).isEqualTo(BOTH);
        assertThat(Devices.of(paths, 3)).isEqualTo(new Devices(Set.of(1), Set.of(1), Map.of(0, 0)));
        assertThat(Devices.of(paths, 9)).isEqualTo(Devices.NONE);
    }

    @Test
    void connectionsOfRingsAndTreesToOtherHostsHaveSlotsOnTheGpu() {
        Plan plan = plan();
        int[] ring = plan.ring(0);
        for (int place = 0; place < ring.length; place++) {
            int next = ring[(place + 1) % ring.length];
            boolean leaves = !plan.sameHost(ring[place], next);
            assertThat(uses(plan, ring[place], BOTH).contains(new Use(next, 0, true, 0)))
                    .isEqualTo(leaves);
            assertThat(uses(plan, next, BOTH).contains(new Use(ring[place], 0, false, 0)))
                    .isEqualTo(leaves);
        }
        for (int rank = 0; rank < 4; rank++) {
            int self = rank;
            assertThat(uses(plan, rank, BOTH))
                    .doesNotHaveDuplicates()
                    .noneMatch(use -> plan.sameHost(use.peer(), self));
        }
    }

    @Test
    void eachDirectionIsAllowedIndependently() {
        Plan plan = plan();
        for (int rank = 0; rank < 4; rank++) {
            List<Use> both = uses(plan, rank, BOTH);
            assertThat(uses(plan, rank, new Devices(Set.of(), Set.of(0), Map.of())))
                    .isEqualTo(both.stream().filter(use -> !use.sends()).toList());
            assertThat(uses(plan, rank, new Devices(Set.of(0), Set.of(1), Map.of())))
                    .isEqualTo(both.stream().filter(Use::sends).toList());
            assertThat(uses(plan, rank, Devices.NONE)).isEmpty();
        }
    }

    @Test
    void connectionsOverSocketsOrSharedMemoryHaveNoSlotsOnTheGpu() {
        Plan plan = plan();
        assertThat(DirectSlots.of(plan, plan.channels(), 0, BOTH, peer -> false))
                .isEmpty();
    }

    /**
     * Returns the slots for two channels with each rank of the other host, without connections to which {@code planned}
     * gives slots.
     */
    private static List<Use> others(Plan plan, int rank, Devices devices, List<Use> planned, int max) {
        return DirectSlots.others(
                plan, rank, devices, peer -> !plan.sameHost(peer, rank), planned, peer -> new int[] {0, 1}, max);
    }

    @Test
    void connectionsOutsideOfRingsAndTreesHaveSlotsOnTheGpuByTheDevicesOfTheRing() {
        Plan plan = plan();
        for (int rank = 0; rank < 4; rank++) {
            List<Use> planned = uses(plan, rank, BOTH);
            List<Use> all = new ArrayList<>(planned);
            all.addAll(others(plan, rank, BOTH, planned, 100));
            assertThat(all.stream().filter(use -> use.channel() < 2))
                    .allMatch(use -> use.device() == 0)
                    .doesNotHaveDuplicates()
                    .hasSize(2 * 2 * 2); // ranks of the other host, channels, directions
            assertThat(others(plan, rank, new Devices(Set.of(1), Set.of(0), Map.of()), List.of(), 100))
                    .hasSize(2 * 2)
                    .noneMatch(Use::sends);
            assertThat(others(plan, rank, Devices.NONE, List.of(), 100)).isEmpty();
        }
    }

    @Test
    void theNearestRanksHaveAllTheirConnectionsOnTheGpuAndFartherRanksNone() {
        Plan plan = plan();
        List<Use> all = others(plan, 0, BOTH, List.of(), 8);
        assertThat(all).extracting(Use::peer).containsExactly(3, 3, 3, 3, 2, 2, 2, 2);
        assertThat(others(plan, 0, BOTH, List.of(), 7)).isEqualTo(all.subList(0, 4));
        assertThat(others(plan, 0, BOTH, List.of(), 3)).isEmpty();
    }

    @Test
    void channelsBeyondThePlanHaveTheSlotsOfThePlannedChannels() {
        Plan plan = plan();
        int rank = plan.ring(0)[0];
        List<Use> once = DirectSlots.of(plan, plan.channels(), rank, BOTH, peer -> true);
        List<Use> twice = DirectSlots.of(plan, 2 * plan.channels(), rank, BOTH, peer -> true);
        assertThat(twice).hasSize(2 * once.size()).startsWith(once.toArray(Use[]::new));
        assertThat(DirectSlots.rows(List.of(new Use(3, 1, true, 2), new Use(4, 0, false, 5))))
                .containsExactly(3, 1, 1, 2, 4, 0, 0, 5);
    }
}
