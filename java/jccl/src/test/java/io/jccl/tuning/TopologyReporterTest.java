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
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.util.List;
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
