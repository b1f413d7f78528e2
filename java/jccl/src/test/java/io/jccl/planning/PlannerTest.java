package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanChecks;
import io.jccl.search.ChannelGraph;
import io.jccl.topology.HostRank;
import io.jccl.topology.Machines;
import io.jccl.topology.PathType;
import io.jccl.topology.SharedRanks;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TopologyReporterTest {

    @Test
    void reports_a_host_machine_alone() {
        TopologyReport report = report(TopologyXmlReader.read(Machines.text("host-2numa")), 1);
        assertThat(report.nodes())
                .extracting(TopologyReport.NodeRow::name)
                .containsExactly("CPU/0", "CPU/1", "HOST/0", "HOST/2", "HOST/1", "HOST/3");
        // 4 ranks, each to 4 ranks and 2 CPUs.
        assertThat(report.paths()).hasSize(24);
        assertThat(report.graphs().get("ring").graph().orders()).first().isEqualTo(List.of(0, 2, 1, 3));
        assertThat(report.graphs().get("ring").searchMillis()).isEqualTo(1.0);
        assertThat(report.plan().orElseThrow().size()).isEqualTo(4);
        assertThat(report.tuning()).isNotEmpty().allSatisfy(row -> assertThat(row.timeMicros())
                .isPositive());
        assertThat(report.notes()).isEmpty();
    }

    @Test
    void reports_the_plan_of_several_machines() {
        TopologyReport report = report(TopologyXmlReader.read(Machines.text("host-2numa")), 3);
        Plan plan = report.plan().orElseThrow();
        assertThat(plan.size()).isEqualTo(12);
        assertThat(plan.machines()).hasSize(3);
        // Each machine is left where it was entered: beside its faster network device.
        assertThat(plan.ring(0)).containsExactly(0, 1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10);
        PlanChecks.check(plan);
        assertThat(report.graphs().get("ring").graph().nets()).isNotEmpty();
        assertThat(report.paths()).anySatisfy(path -> {
            assertThat(path.from()).isEqualTo("NET/0");
            assertThat(path.type()).isEqualTo(PathType.PHB);
        });
    }

    @Test
    void predicts_gpus_from_their_channels() {
        TopologyReport report = report(TopologyXmlReader.read(Machines.text("gpu4-nvswitch")), 1);
        ChannelGraph ring = report.graphs().get("ring").graph();
        assertThat(ring.typeIntra()).isEqualTo(PathType.NVL);
        assertThat(report.notes()).noneSatisfy(note -> assertThat(note).contains("tuning"));
        List<TopologyReport.TuningRow> broadcasts = report.tuning().stream()
                .filter(row -> row.collective() == Collective.BROADCAST)
                .toList();
        assertThat(broadcasts.get(0).choice().protocol()).isEqualTo(Protocol.LL);
        TopologyReport.TuningRow largest = broadcasts.get(broadcasts.size() - 1);
        assertThat(largest.choice().protocol()).isEqualTo(Protocol.SIMPLE);
        assertThat(largest.bytes() / largest.timeMicros() / 1000)
                .isBetween(0.8 * ring.totalBandwidthGBps(), ring.totalBandwidthGBps());
    }

    /** 2 and 3 machines of four GPUs with uneven numbers of ranks: every plan visits a GPU's ranks after one another. */
    @Test
    void plans_visit_the_ranks_of_a_gpu_after_one_another() {
        String xml = SharedRanks.on(Machines.text("gpu4-nvswitch"), SharedRanks.ascending(3, 1, 2, 1));
        for (int machines = 1; machines <= 3; machines++) {
            TopologyReport report = report(TopologyXmlReader.read(xml), machines);
            assertThat(report.sharedGpus().values()).containsExactlyInAnyOrder(List.of(0, 1, 2), List.of(4, 5));
            Plan plan = report.plan().orElseThrow();
            assertThat(plan.size()).isEqualTo(7 * machines);
            PlanChecks.check(plan);
            for (int channel = 0; channel < plan.channels(); channel++) {
                List<Integer> ring = Arrays.stream(plan.ring(channel)).boxed().toList();
                for (int machine = 0; machine < machines; machine++) {
                    for (List<Integer> sharing : report.sharedGpus().values()) {
                        int base = 7 * machine;
                        List<Integer> places = sharing.stream()
                                .map(rank -> ring.indexOf(base + rank))
                                .sorted()
                                .toList();
                        int apart = places.get(places.size() - 1) - places.get(0);
                        boolean atTheEnds = machines == 1 && apart > places.size() - 1;
                        assertThat(atTheEnds || apart == places.size() - 1)
                                .as(ring + " " + sharing)
                                .isTrue();
                        if (atTheEnds) {
                            assertThat(places.get(0)).isZero();
                            assertThat(places.get(places.size() - 1)).isEqualTo(6);
                        }
                    }
                }
            }
        }
    }

    /** Large broadcasts among eight ranks on an H100 take what eight hops in its memory take, and not the time of any link. */
    @Test
    void predicts_ranks_that_share_the_only_gpu_by_its_memory() {
        XmlElement shared = TopologyXmlReader.read("<system version='1'><cpu numaid='0' arch='x86_64'>"
                + "<pci busid='0000:11:00.0' class='0x030200' link_speed='8.0 GT/s PCIe' link_width='16'>"
                + IntStream.range(0, 8)
                        .mapToObj(rank -> "<gpu dev='0' sm='90' rank='" + rank + "'/>")
                        .collect(Collectors.joining())
                + "</pci></cpu></system>");
        TopologyReport report = report(shared, 1);
        List<TopologyReport.TuningRow> broadcasts = report.tuning().stream()
                .filter(row -> row.collective() == Collective.BROADCAST)
                .toList();
        TopologyReport.TuningRow largest = broadcasts.get(broadcasts.size() - 1);
        assertThat(largest.bytes() / largest.timeMicros() / 1000).isBetween(0.8 * 1675 / 8, 1675.0 / 8);
        assertThat(report.sharedGpus()).containsOnlyKeys("0000:11:00.0");
    }

    @Test
    void reports_a_machine_without_ranks_and_this_machine() {
        TopologyReport none = report(new SysfsDetector(java.nio.file.Path.of("missing"), "amd64").detect(List.of()), 2);
        assertThat(none.plan()).isEmpty();
        assertThat(none.notes()).anySatisfy(note -> assertThat(note).contains("no rank lives on this machine"));
        XmlElement here = SysfsDetector.detectThisMachine(List.of(new HostRank(0, -1), new HostRank(1, -1)));
        assertThat(report(here, 2).plan().orElseThrow().size()).isEqualTo(4);
    }

    private static TopologyReport report(XmlElement description, int machines) {
        return ReportRequests.report(
                description, machines, new CommunicatorShape.SlotBytes(32 << 10, 122_880, 128 << 10), 1_000_000);
    }
}
