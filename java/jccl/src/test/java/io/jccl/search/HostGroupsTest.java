package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.HostGroups;
import io.jccl.topology.NodePaths;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Tests that a few of many ranks on a CPU represent all of them, and that channels found for the few are right for all.
 */
class HostGroupsTest {

    @Test
    void aSmallHostIsSearchedAsItIs() {
        Topology host = host(4, 3);
        HostGroups groups = HostGroups.of(host);
        assertThat(groups.reduces()).isFalse();
        assertThat(groups.reduced()).isSameAs(host);
    }

    @Test
    void theOtherRanksFollowTheLastOfTheirGroupAndNeverEndAChannel() {
        HostGroups groups = HostGroups.of(host(6, 5)); // ranks 0 to 5, and 6 to 10
        assertThat(groups.reduced().endpoints()).hasSize(8);
        assertThat(groups.expand(List.of(List.of(0, 1, 6, 7, 8, 9, 3, 2), List.of(9, 8, 7, 6, 2, 0, 1, 3))))
                .containsExactly(List.of(0, 1, 6, 7, 8, 9, 10, 3, 4, 5, 2), List.of(9, 8, 7, 6, 10, 2, 0, 1, 4, 5, 3));
    }

    @Test
    void ranksOfAGroupAreInAscendingOrderIfAllChannelsAreEqual() {
        HostGroups groups = HostGroups.of(host(6, 5));
        List<Integer> order = List.of(0, 1, 6, 7, 8, 9, 3, 2);
        assertThat(groups.expand(List.of(order, order)))
                .containsOnly(List.of(0, 1, 6, 7, 8, 9, 10, 2, 3, 4, 5))
                .hasSize(2);
    }

    @Test
    void ranksWithLinksOfAnotherBandwidthAreAnotherGroup() {
        Topology host = GraphBuilder.build(TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0' arch='x86_64'><host rank='0'/><host rank='1' bw='3'/><host rank='2'/>"
                        + "<host rank='3' bw='3'/><host rank='4'/><host rank='5'/><host rank='6'/></cpu></system>"));
        HostGroups groups = HostGroups.of(host);
        assertThat(groups.reduced().endpoints()).hasSize(6);
        assertThat(groups.expand(List.of(List.of(1, 3, 0, 2, 4, 5)))).containsExactly(List.of(1, 3, 0, 2, 4, 5, 6));
        assertThat(groups.minGBpsOfOthers()).isEqualTo(12);
    }

    /**
     * {@link ChannelChecker} checks the channels of all ranks. Their bandwidth must equal that of a host with fewer
     * ranks, except that trees over many ranks carry at most the bandwidth of one rank. With few ranks a tree can carry
     * more, because it has one link less than ranks.
     */
    @Test
    void channelsThroughAllRanksCarryAsMuchAsThoseThroughTheRepresentatives() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            int[] ranks = random.ints(1 + random.nextInt(3), 1, 14).toArray();
            boolean networks = random.nextBoolean();
            SearchOptions options = new SearchOptions(1 + random.nextInt(4), networks);
            ChannelSearch all = search(ranks, options);
            ChannelSearch few =
                    search(IntStream.of(ranks).map(count -> Math.min(count, 4)).toArray(), options);
            ChannelGraph ring = all.search(Pattern.RING);
            ChannelGraph tree = all.searchTree(ring);
            String what =
                    "seed=" + seed + " ranks=" + IntStream.of(ranks).boxed().toList();
            assertThat(ring.orders().get(0))
                    .as(what)
                    .hasSize(IntStream.of(ranks).sum());
            NodePaths paths = paths(ranks, networks);
            ChannelChecker.check(paths, ring, what);
            ChannelChecker.check(paths, tree, what);
            ChannelGraph fewRing = few.search(Pattern.RING);
            assertThat(ring.totalBandwidthGBps()).as(what).isCloseTo(fewRing.totalBandwidthGBps(), within(1e-9));
            double ofFew = few.searchTree(fewRing).interBandwidthGBps();
            assertThat(tree.interBandwidthGBps())
                    .as(what)
                    .isCloseTo(IntStream.of(ranks).max().orElseThrow() > 4 ? Math.min(ofFew, 12) : ofFew, within(1e-9));
        }
    }

    private static ChannelSearch search(int[] ranks, SearchOptions options) {
        return new ChannelSearch(paths(ranks, options.networks()), options);
    }

    private static NodePaths paths(int[] ranks, boolean networks) {
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(host(ranks)), 0, networks));
    }

    /** Returns a host whose CPUs have the given numbers of ranks. The last CPU has a network device. */
    private static Topology host(int... ranksByCpu) {
        StringBuilder xml = new StringBuilder("<system version='1'>");
        int next = 0;
        for (int cpu = 0; cpu < ranksByCpu.length; cpu++) {
            xml.append("<cpu numaid='").append(cpu).append("' arch='x86_64'>");
            for (int rank = 0; rank < ranksByCpu[cpu]; rank++) {
                xml.append("<host rank='").append(next++).append("'/>");
            }
            if (cpu == ranksByCpu.length - 1) {
                xml.append("<nic><net name='eth0' dev='0' speed='100000'/></nic>");
            }
            xml.append("</cpu>");
        }
        return GraphBuilder.build(TopologyXmlReader.read(xml.append("</system>").toString()));
    }
}
