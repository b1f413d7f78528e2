package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.TopologyXmlReader;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class NetworkMapTest {

    private static final String GPU_AND_NET =
            "<pci busid='%1$d000:01:00.0' class='0x060400' link_speed='16.0 GT/s PCIe'"
                    + " link_width='16'><pci busid='%1$d000:02:00.0' class='0x030200' link_speed='16.0 GT/s PCIe' link_width='16'>"
                    + "<gpu dev='%1$d' sm='80' rank='%1$d' gdr='1'/></pci>"
                    + "<pci busid='%1$d000:03:00.0' class='0x020000' link_speed='16.0 GT/s PCIe' link_width='16'><nic>"
                    + "<net name='mlx%1$d' dev='%1$d' speed='100000' guid='0x%1$d7' gdr='1'/></nic></pci></pci>";

    private static final NodePaths HOST = NodePaths.compute(GraphBuilder.build(TopologyXmlReader.read(
            "<system version='1'><cpu numaid='0' arch='x86_64'>" + GPU_AND_NET.formatted(0) + GPU_AND_NET.formatted(1)
                    + "<nic><net name='eth0' dev='2' speed='10000'/></nic></cpu></system>")));

    @Test
    void eachGpuIsNamedWithItsDevicesTheirDistanceAndChannels() {
        Plan plan = Plan.build(ranks(2, new Rail(0, 0), new Rail(1, 1)), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(4);
        assertThat(NetworkMap.describe(plan, 0, HOST))
                // Rings 0 and 2 enter at GPU/0 by NET/0, and leave from GPU/1 by NET/0; trees 0 and 1 begin at GPU/0.
                .contains("GPU/0: NET/0 (mlx0) PIX channels 0-2, NET/1 (mlx1) PHB channels 1,3;"
                        + " GPU/1: NET/0 (mlx0) PHB channels 0,2, NET/1 (mlx1) PIX channels 1-3;"
                        + " unused: NET/2 (eth0)");
    }

    @Test
    void aRingThatCrossesRailsEntersByOneDeviceAndLeavesByTheOther() {
        Plan plan = Plan.build(ranks(2, new Rail(0, 1)), new PlanOptions(1, 1));
        assertThat(NetworkMap.describe(plan, 0, HOST)).hasValueSatisfying(map -> assertThat(map)
                .startsWith("GPU/0: NET/0 (mlx0) PIX channels 0; GPU/1: NET/1 (mlx1) PIX channels 0;"));
    }

    @Test
    void neighbouringChannelsAreShownAsARange() {
        Plan plan = Plan.build(ranks(2, new Rail(0, 0)), PlanOptions.defaults());
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(NetworkMap.describe(plan, 0, HOST))
                .hasValueSatisfying(map -> assertThat(map).startsWith("GPU/0: NET/0 (mlx0) PIX channels 0-1;"));
    }

    @Test
    void theMapIsEmptyIfNoChannelLeavesTheHost() {
        assertThat(NetworkMap.describe(Plan.build(ranks(1, new Rail(0, 0)), PlanOptions.defaults()), 0, HOST))
                .isEmpty();
        assertThat(NetworkMap.describe(Plan.build(ranks(2), PlanOptions.defaults()), 0, HOST))
                .isEmpty();
    }

    /** Returns the ranks of hosts with two GPUs each, and with one channel on each of the rails. */
    private static List<RankChannels> ranks(int hosts, Rail... rails) {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2 * hosts; rank++) {
            int base = rank / 2 * 2;
            List<List<Integer>> orders = new ArrayList<>();
            for (Rail rail : rails) {
                orders.add(rail.in() == 0 ? List.of(base, base + 1) : List.of(base + 1, base));
            }
            ChannelGraph found = Found.rings(12, 12, PathType.PIX, PathType.PIX, false, orders, List.of(rails));
            ranks.add(Found.rank(rank, "host-" + base, true, found, Pattern.BALANCED_TREE));
        }
        return ranks;
    }
}
