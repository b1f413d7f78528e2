package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.ChannelGraph;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.HostRank;
import io.jccl.topology.PathType;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.SharedRanks;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.TuningOverrides;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlannerTest {

    private static final long LARGE = 256L << 20;

    private static XmlElement described(String name) {
        return TopologyXmlReader.read(DescribedHosts.text(name));
    }

    @Test
    void aHostAloneIsPlannedByItsMemory() {
        LocalSurvey found = DescribedPlans.survey(described("host-2numa"), false);
        assertThat(found.survey().channels().rings().orders()).first().isEqualTo(List.of(0, 2, 1, 3));
        assertThat(found.ringMillis()).isEqualTo(1.0);
        CommunicatorPlan plan = DescribedPlans.plan(described("host-2numa"), 1);
        assertThat(plan.host().size()).isEqualTo(4);
        assertThat(plan.gpu()).isEmpty();
        assertThat(plan.notes()).isEmpty();
        assertThat(plan.shape().localTransport()).isEqualTo(TransportKind.SHM);
    }

    @Test
    void ringsOfSeveralHostsEnterAndLeaveByTheFasterDevice() {
        Plan plan = DescribedPlans.plan(described("host-2numa"), 3).host();
        assertThat(plan.size()).isEqualTo(12);
        assertThat(plan.hosts()).hasSize(3);
        // A ring leaves each host where it entered: near the faster network device.
        assertThat(plan.ring(0)).containsExactly(0, 1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10);
        PlanChecks.check(plan);
    }

    /**
     * All hosts plan with the values of the weakest host: the fewest processors per rank, and the lowest bandwidth of a
     * host's best network device.
     */
    @Test
    void theFullestHostAndTheNarrowestNetworkBoundAll() {
        MachineSurvey wide =
                DescribedPlans.survey(described("host-2numa"), true).survey();
        MachineSurvey narrow = new MachineSurvey(wide.channels(), wide.traits(), 0.5, 2);
        CommunicatorPlan plan = DescribedPlans.plan(List.of(wide, narrow, wide), TransportKind.SHM);
        assertThat(plan.shape().cores()).isEqualTo(2);
        assertThat(plan.shape().netGBps()).isEqualTo(0.5);
        assertThat(wide.netGBps()).isGreaterThan(0.5);
    }

    @Test
    void theTransportThatRanksAgreedOnReplacesTheExpectedOne() {
        CommunicatorPlan planned = DescribedPlans.plan(described("host-2numa"), 1);
        assertThat(Planner.connected(planned, TransportKind.SHM, DescribedPlans.options()))
                .isSameAs(planned);
        CommunicatorPlan sockets = Planner.connected(planned, TransportKind.SOCKET, DescribedPlans.options());
        assertThat(sockets.shape()).isEqualTo(planned.shape().over(TransportKind.SOCKET));
        assertThat(sockets.host()).isSameAs(planned.host());
        assertThat(planned.choices().choice(Collective.ALL_REDUCE, LARGE).tryZeroCopy())
                .isTrue();
        assertThat(sockets.choices().choice(Collective.ALL_REDUCE, LARGE).tryZeroCopy())
                .isFalse();
    }

    @Test
    void aRankAloneOnItsHostHasNoTransportToWaitFor() {
        XmlElement alone = TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0' arch='x86_64'><host rank='0'/></cpu></system>");
        assertThat(DescribedPlans.plan(alone, 3).shape().localTransport()).isEqualTo(TransportKind.P2P);
    }

    @Test
    void gpusArePredictedFromTheirChannels() {
        CommunicatorPlan plan = DescribedPlans.plan(described("gpu4-nvswitch"), 1);
        ChannelGraph ring = DescribedPlans.survey(described("gpu4-nvswitch"), false)
                .survey()
                .channels()
                .rings();
        assertThat(ring.typeIntra()).isEqualTo(PathType.NVL);
        assertThat(plan.choices().choice(Collective.BROADCAST, 8).protocol()).isEqualTo(Protocol.LL);
        assertThat(plan.choices().choice(Collective.BROADCAST, LARGE).protocol())
                .isEqualTo(Protocol.SIMPLE);
        assertThat(largestBroadcastGBps(plan)).isBetween(0.8 * ring.totalBandwidthGBps(), ring.totalBandwidthGBps());
    }

    private static double largestBroadcastGBps(CommunicatorPlan plan) {
        return LARGE / plan.choices().predictedMicros(Collective.BROADCAST, LARGE) / 1000;
    }

    /**
     * The choices predicted from a description of GPUs equal those made for kernels after such GPUs have been
     * connected.
     */
    @Test
    void connectedGpusFollowTheChoicesOfTheirDescription() {
        for (int hosts : new int[] {1, 2, 4}) {
            List<MachineSurvey> ranks = MachineSurvey.together(Collections.nCopies(
                    hosts,
                    DescribedPlans.survey(described("gpu4-nvswitch"), hosts > 1).survey()));
            CommunicatorPlan plan = Planner.plan(ranks, ranks, TransportKind.SHM, DescribedPlans.options());
            int channels = Math.min(plan.onDevices().channels(), Planner.MAX_DEVICE_CHANNELS);
            DeviceFacts facts =
                    new DeviceFacts(channels, 1, 80, 80, false, false, EnumSet.allOf(Protocol.class), List.of());
            for (Collective collective : Collective.values()) {
                for (long bytes = 8; bytes <= LARGE; bytes *= 4) {
                    Choice connected = Planner.deviceChoices(plan, facts, DescribedPlans.options())
                            .choice(collective, bytes);
                    assertThat(connected).isEqualTo(plan.choices().choice(collective, bytes));
                }
            }
        }
    }

    @Test
    void gpusHaveNoMoreChannelsThanBlocksCanWaitForEachOther() {
        List<MachineSurvey> ranks = MachineSurvey.together(
                List.of(DescribedPlans.survey(described("gpu4-nvswitch"), false).survey()));
        PlanningOptions many = DescribedPlans.options().withChannels(new PlanOptions(64, 64));
        CommunicatorPlan plan = Planner.plan(ranks, ranks, TransportKind.SHM, many);
        assertThat(plan.onDevices().channels()).isEqualTo(64);
        assertThat(plan.gpu().orElseThrow().shape().channels()).isEqualTo(Planner.MAX_DEVICE_CHANNELS);
        assertThat(plan.choices().choice(Collective.ALL_REDUCE, LARGE).channels())
                .isLessThanOrEqualTo(Planner.MAX_DEVICE_CHANNELS);
    }

    /** Plans 1 to 3 hosts of four GPUs with unequal numbers of ranks. Every ring visits the ranks of a GPU in a row. */
    @Test
    void ringsVisitTheRanksOfAGpuInARow() {
        XmlElement description = TopologyXmlReader.read(
                SharedRanks.on(DescribedHosts.text("gpu4-nvswitch"), SharedRanks.ascending(3, 1, 2, 1)));
        Collection<List<Integer>> shared = SharedGpus.of(
                        DescribedPlans.survey(description, false).paths().topology())
                .ranks()
                .values();
        assertThat(shared).containsExactlyInAnyOrder(List.of(0, 1, 2), List.of(4, 5));
        for (int hosts = 1; hosts <= 3; hosts++) {
            Plan plan = DescribedPlans.plan(description, hosts).host();
            assertThat(plan.size()).isEqualTo(7 * hosts);
            PlanChecks.check(plan);
            for (int channel = 0; channel < plan.channels(); channel++) {
                List<Integer> ring = Arrays.stream(plan.ring(channel)).boxed().toList();
                for (int host = 0; host < hosts; host++) {
                    for (List<Integer> sharing : shared) {
                        requireNeighbours(ring, sharing, 7 * host, hosts == 1);
                    }
                }
            }
        }
    }

    private static void requireNeighbours(List<Integer> ring, List<Integer> sharing, int base, boolean alone) {
        List<Integer> places =
                sharing.stream().map(rank -> ring.indexOf(base + rank)).sorted().toList();
        int apart = places.get(places.size() - 1) - places.get(0);
        boolean atTheEnds = alone && apart > places.size() - 1;
        assertThat(atTheEnds || apart == places.size() - 1)
                .as(ring + " " + sharing)
                .isTrue();
        if (atTheEnds) {
            assertThat(places.get(0)).isZero();
            assertThat(places.get(places.size() - 1)).isEqualTo(6);
        }
    }

    /**
     * A large broadcast among eight ranks on one H100 takes the time in which its memory carries three accesses of each
     * rank, not the time of a link.
     */
    @Test
    void ranksThatShareTheOnlyGpuArePredictedByItsMemory() {
        XmlElement shared = TopologyXmlReader.read("<system version='1'><cpu numaid='0' arch='x86_64'>"
                + "<pci busid='0000:11:00.0' class='0x030200' link_speed='8.0 GT/s PCIe' link_width='16'>"
                + IntStream.range(0, 8)
                        .mapToObj(rank -> "<gpu dev='0' sm='90' rank='" + rank + "'/>")
                        .collect(Collectors.joining())
                + "</pci></cpu></system>");
        assertThat(largestBroadcastGBps(DescribedPlans.plan(shared, 1))).isBetween(0.8 * 3350 / 8 / 3, 3350.0 / 8 / 3);
    }

    @Test
    void thisHostIsPlanned() {
        XmlElement here = SysfsDetector.detectThisHost(List.of(new HostRank(0, -1), new HostRank(1, -1)));
        assertThat(DescribedPlans.plan(here, 2).host().size()).isEqualTo(4);
    }

    /** The second options expect that parts may connect the algorithms that the setting names. */
    @Test
    void aSettingThatNamesOnlyUndecidedAlgorithmsRestrictsNothing() {
        List<MachineSurvey> ranks = MachineSurvey.together(Collections.nCopies(
                2, DescribedPlans.survey(described("gpu4-nvswitch"), true).survey()));
        TuningOverrides collNet = TuningOverrides.of("collnet", null, 0, 0, 0);
        assertThatThrownBy(() -> Planner.plan(
                        ranks, ranks, TransportKind.SHM, DescribedPlans.options(collNet, AddedAlgorithms.NONE)))
                .hasMessageContaining("JCCL_ALGO=collnet: all_reduce has only");
        PlanningOptions undecided = DescribedPlans.options(
                collNet, new AddedAlgorithms(List.of(), Set.of(Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN)));
        CommunicatorPlan plan = Planner.plan(ranks, ranks, TransportKind.SHM, undecided);
        DeviceFacts facts = new DeviceFacts(2, 1, 80, 80, false, false, EnumSet.allOf(Protocol.class), List.of());
        for (ChoiceTable table : List.of(plan.choices(), Planner.deviceChoices(plan, facts, undecided))) {
            assertThat(table.candidates(Collective.ALL_REDUCE))
                    .extracting(ChoiceTable.Candidate::algorithm)
                    .contains(Algorithm.RING, Algorithm.TREE);
        }
    }
}
