package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChannelGroupTest {

    private static ChannelGraph graph(Pattern pattern, List<List<Integer>> orders, List<Rail> nets) {
        return new ChannelGraph(pattern, 20, 20, PathType.NVL, PathType.PIX, false, orders, nets);
    }

    @Test
    void ringsThatAreRotatedOrReversedAreOneGroup() {
        List<ChannelGroup> groups = ChannelGroup.of(graph(
                Pattern.RING,
                List.of(List.of(0, 2, 1, 3), List.of(0, 1, 2, 3), List.of(2, 3, 0, 1), List.of(3, 2, 1, 0)),
                List.of()));
        assertThat(groups).hasSize(2);
        assertThat(groups.get(0).order()).containsExactly(0, 1, 2, 3);
        assertThat(groups.get(0).forward()).containsExactly(1, 2);
        assertThat(groups.get(0).backward()).containsExactly(3);
        assertThat(groups.get(0).oneWay()).isFalse();
        assertThat(groups.get(1).route()).isEqualTo("0 → 2 → 1 → 3 → 0");
    }

    @Test
    void ringsThatLeaveTheHostAreNotRotated() {
        List<ChannelGroup> groups = ChannelGroup.of(graph(
                Pattern.RING,
                List.of(List.of(0, 1, 2), List.of(1, 2, 0), List.of(2, 1, 0)),
                List.of(new Rail(0, 1), new Rail(1, 1), new Rail(1, 0))));
        assertThat(groups).hasSize(2);
        assertThat(groups.get(0).backward()).containsExactly(2);
        assertThat(groups.get(0).netPorts())
                .containsExactly(
                        new ChannelGroup.NetPort(0, 0, true, false),
                        new ChannelGroup.NetPort(1, 2, false, true),
                        new ChannelGroup.NetPort(1, 2, true, false),
                        new ChannelGroup.NetPort(0, 0, false, true));
        assertThat(groups.get(0).closed()).isFalse();
        assertThat(groups.get(1).oneWay()).isTrue();
    }

    @Test
    void treesKeepTheirFirstRankIfItHasTheNetworkPort() {
        List<List<Integer>> orders = List.of(List.of(0, 1, 2), List.of(2, 1, 0));
        assertThat(ChannelGroup.of(graph(Pattern.BALANCED_TREE, orders, List.of())))
                .hasSize(1);
        List<ChannelGroup> groups =
                ChannelGroup.of(graph(Pattern.BALANCED_TREE, orders, List.of(new Rail(0, 0), new Rail(0, 0))));
        assertThat(groups).hasSize(2);
        assertThat(groups.get(0).netPorts())
                .containsExactly(
                        new ChannelGroup.NetPort(0, 0, true, true), new ChannelGroup.NetPort(0, 1, true, true));
    }
}
