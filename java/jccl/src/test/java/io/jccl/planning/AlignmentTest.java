package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AlignmentTest {

    private final List<RankChannels> ranks = new ArrayList<>();

    @Test
    void equalHostsKeepTheFoundChannelsAndCarryEachOneByTwo() {
        host(8, rings(8, 24, straight(8)));
        host(8, rings(8, 24, straight(8)));
        Plan plan = plan();
        assertThat(plan.ringGraph()).isEqualTo(new GraphSummary(Pattern.RING, 8, 24, 24, PathType.NVL));
        assertThat(plan.channels()).isEqualTo(16);
    }

    @Test
    void hostsOfEightAndFourGpusAgreeOnTheBandwidthOfTheSmallerHost() {
        host(8, rings(8, 24, straight(8)));
        host(4, rings(4, 24, straight(4)));
        GraphSummary agreed = plan().ringGraph();
        assertThat(agreed.channels()).isEqualTo(4);
        assertThat(agreed.totalBandwidthGBps()).isEqualTo(96);
    }

    /**
     * With the smaller number of channels, 4, and the smaller bandwidth, 12 GB/s, the plan would carry half of what
     * each host can carry.
     */
    @Test
    void aHostWithFewWideChannelsSplitsThemForAHostWithManyNarrowOnes() {
        host(8, rings(8, 12, straight(8)));
        host(4, rings(4, 24, straight(4)));
        GraphSummary agreed = plan().ringGraph();
        assertThat(agreed.channels()).isEqualTo(8);
        assertThat(agreed.totalBandwidthGBps()).isEqualTo(96);
    }

    @Test
    void numbersOfChannelsThatDoNotDivideEachOtherMeetAtAMultiple() {
        host(6, rings(3, 10, straight(3)));
        host(4, rings(2, 15, straight(2)));
        GraphSummary agreed = plan().ringGraph();
        assertThat(agreed.channels()).isEqualTo(6);
        assertThat(agreed.totalBandwidthGBps()).isCloseTo(30, within(1e-9));
    }

    @Test
    void theFarthestPathTypeCounts() {
        host(2, rings(1, 10, straight(1)));
        host(2, Found.rings(9, 8, PathType.SYS, PathType.PHB, true, orders(2, 1), straight(1)));
        assertThat(plan().ringGraph()).isEqualTo(new GraphSummary(Pattern.RING, 1, 9, 8, PathType.SYS));
    }

    @Test
    void ranksOfOneHostThatDifferTakeTheLowestRanksOrdersAndTheWorstNumbers() {
        ChannelGraph good = Found.rings(20, 20, PathType.NVL, PathType.PIX, false, orders(2, 2), List.of());
        ChannelGraph bad = Found.rings(5, 20, PathType.SYS, PathType.PIX, false, List.of(List.of(1, 0)), List.of());
        ranks.add(Found.rank(0, "a", false, good, Pattern.TREE));
        ranks.add(new RankChannels(1, "a", false, bad, Found.trees(Pattern.TREE, good)));
        Plan plan = plan();
        assertThat(plan.channels()).isEqualTo(2);
        assertThat(plan.ring(0)).containsExactly(0, 1);
        assertThat(plan.ringGraph()).isEqualTo(new GraphSummary(Pattern.RING, 2, 5, 5, PathType.SYS));
        assertThat(plan.treeGraph().bwIntra()).isEqualTo(20);
    }

    /** A DGX H100 has 8 rings of 46.4 GB/s, a DGX A100 10 of 24 GB/s. */
    @Test
    void gpusHaveAsManyChannelsAsTheirBlocksNeedForTheirLinks() {
        host(8, rings(8, 46.4, straight(8)));
        assertThat(plan(13.7).channels()).isEqualTo(32);
        assertThat(plan(40).channels()).isEqualTo(16);
        ranks.clear();
        host(8, rings(10, 24, straight(10)));
        assertThat(plan(9.7).channels()).isEqualTo(30);
        ranks.clear();
        host(8, rings(12, 30, straight(12))); // three blocks for each would be 36
        assertThat(plan(13.7).channels()).isEqualTo(24);
        ranks.clear();
        host(8, rings(1, 12, straight(1)));
        assertThat(plan(9.7).channels()).isEqualTo(2);
    }

    @Test
    void wideChannelsOfSeveralHostsAreCarriedByPairsOfChannels() {
        host(4, rings(4, 48, straight(4)));
        host(4, rings(4, 48, straight(4)));
        assertThat(plan().channels()).isEqualTo(16);
        ranks.clear();
        host(4, rings(2, 40, straight(2)));
        host(4, rings(2, 40, straight(2)));
        assertThat(plan().channels()).isEqualTo(4);
    }

    @Test
    void oneHostOfGpusCarriesEachChannelByTwoAndOneOfHostRanksByOne() {
        host(8, rings(12, 20, List.of()));
        assertThat(plan().channels()).isEqualTo(24);
        ChannelGraph found = Found.rings(orders(2, 3));
        List<RankChannels> host =
                List.of(Found.rank(0, "a", false, found, Pattern.TREE), Found.rank(1, "a", false, found, Pattern.TREE));
        assertThat(Plan.build(host, PlanOptions.defaults()).channels()).isEqualTo(3);
    }

    @Test
    void hostRanksTakeNoMoreChannelsThanTheHostWithTheFewest() {
        ChannelGraph three = Found.rings(1, 1, PathType.SYS, PathType.PHB, false, orders(2, 3), List.of());
        ChannelGraph one = Found.rings(9, 9, PathType.SYS, PathType.PHB, false, List.of(List.of(2)), List.of());
        List<RankChannels> host = List.of(
                Found.rank(0, "a", false, three, Pattern.TREE),
                Found.rank(1, "a", false, three, Pattern.TREE),
                Found.rank(2, "b", false, one, Pattern.TREE));
        Plan plan = Plan.build(host, PlanOptions.defaults());
        assertThat(plan.ringGraph().channels()).isEqualTo(1);
        assertThat(plan.channels()).isEqualTo(2);
    }

    @Test
    void hostRanksTakeNoMoreChannelsThanTheNativeEngineHas() {
        ChannelGraph one = Found.rings(9, 9, PathType.SYS, PathType.PHB, false, List.of(List.of(0, 1)), List.of());
        List<RankChannels> host =
                List.of(Found.rank(0, "a", false, one, Pattern.TREE), Found.rank(1, "a", false, one, Pattern.TREE));
        assertThat(Plan.build(host, new PlanOptions(64, 64)).channels()).isEqualTo(32);
    }

    @Test
    void aRankAloneHasOneChannel() {
        host(1, rings(8, 24, straight(8)));
        assertThat(plan().channels()).isEqualTo(1);
    }

    /**
     * A ring that enters a host by device 0 and leaves by 1 must enter the next host by 1: every other host swaps the
     * pair.
     */
    @Test
    void ringsThatCrossRailsAlternateSoThatEachStepBetweenHostsStaysOnOneRail() {
        List<Rail> crossing = List.of(new Rail(0, 1), new Rail(1, 0), new Rail(2, 3), new Rail(3, 2));
        for (int host = 0; host < 6; host++) {
            host(4, rings(4, 48, crossing));
        }
        assertRailsMeet(plan(), true);
    }

    /** After an odd number of swaps the last step must change the rail; all steps before it stay on one rail. */
    @Test
    void anOddNumberOfCrossingHostsChangesRailsAtTheLastStepOnly() {
        List<Rail> crossing = List.of(new Rail(0, 1), new Rail(1, 0));
        for (int host = 0; host < 5; host++) {
            host(4, rings(2, 48, crossing));
        }
        assertRailsMeet(plan(), false);
    }

    @Test
    void hostsThatListTheirDevicesInAnotherOrderMeetOnTheSameRails() {
        host(4, rings(4, 24, straight(4)));
        host(4, rings(4, 24, List.of(new Rail(2, 2), new Rail(0, 0), new Rail(3, 3), new Rail(1, 1))));
        host(8, rings(8, 24, reversed(8)));
        Plan plan = plan();
        assertRailsMeet(plan, true);
        for (int channel = 0; channel < plan.channels(); channel++) {
            for (int rank = 0; rank < plan.size(); rank++) {
                int above = plan.tree(channel, rank).up();
                if (above >= 0 && !plan.sameHost(rank, above)) {
                    assertThat(treeRail(plan, channel, rank)).isEqualTo(channel / 2 % 4);
                }
            }
        }
    }

    @Test
    void aDeviceThatTheNextHostLacksLeavesTheOtherChannelsOnTheirRails() {
        host(4, rings(4, 24, straight(4)));
        host(4, rings(4, 24, List.of(new Rail(7, 7), new Rail(1, 1), new Rail(0, 0), new Rail(2, 2))));
        Plan plan = plan();
        for (int channel = 0; channel < 3; channel++) {
            assertThat(plan.ringRail(channel, 1)).contains(new Rail(channel, channel));
        }
        assertThat(plan.ringRail(3, 1)).contains(new Rail(7, 7));
    }

    /**
     * Returns the rail of a rank that starts a tree. In {@link #rings} channel {@code c} of a host starts at its rank
     * {@code c mod members}.
     */
    private int treeRail(Plan plan, int channel, int rank) {
        List<Integer> members = plan.hostOf(rank).ranks();
        ChannelGraph found = ranks.get(rank).trees();
        int start = members.indexOf(rank);
        return found.rails().get(start).in();
    }

    private static void assertRailsMeet(Plan plan, boolean closed) {
        int hosts = plan.hosts().size();
        for (int channel = 0; channel < plan.channels(); channel++) {
            for (int host = 0; host < (closed ? hosts : hosts - 1); host++) {
                Rail here = plan.ringRail(channel, host).orElseThrow();
                Rail next = plan.ringRail(channel, (host + 1) % hosts).orElseThrow();
                assertThat(next.in())
                        .as("channel %d after host %d", channel, host)
                        .isEqualTo(here.out());
            }
        }
    }

    private Plan plan() {
        return plan(22.5);
    }

    /** @param blockGBps bandwidth of one thread block of a GPU */
    private Plan plan(double blockGBps) {
        Plan plan = Plan.build(ranks, new PlanOptions(1, PlanOptions.CHANNEL_LIMIT, blockGBps));
        PlanChecks.check(plan);
        return plan;
    }

    private void host(int members, ChannelGraph found) {
        int base = ranks.size();
        ChannelGraph own = Found.rings(
                found.bwIntra(),
                found.bwInter(),
                found.typeIntra(),
                found.typeInter(),
                found.crossNic(),
                IntStream.range(0, found.orders().size())
                        .mapToObj(channel -> rotated(base, members, channel))
                        .toList(),
                found.rails());
        for (int i = 0; i < members; i++) {
            ranks.add(Found.rank(base + i, "host-" + base, true, own, Pattern.BALANCED_TREE));
        }
    }

    private static ChannelGraph rings(int channels, double gbps, List<Rail> rails) {
        return Found.rings(gbps, gbps, PathType.NVL, PathType.PIX, false, orders(1, channels), rails);
    }

    private static List<List<Integer>> orders(int members, int channels) {
        return Collections.nCopies(channels, rotated(0, members, 0));
    }

    private static List<Integer> rotated(int base, int members, int by) {
        return IntStream.range(0, members)
                .mapToObj(i -> base + (i + by) % members)
                .toList();
    }

    private static List<Rail> straight(int rails) {
        return IntStream.range(0, rails).mapToObj(i -> new Rail(i, i)).toList();
    }

    private static List<Rail> reversed(int rails) {
        List<Rail> list = new ArrayList<>(straight(rails));
        Collections.reverse(list);
        return list;
    }
}
