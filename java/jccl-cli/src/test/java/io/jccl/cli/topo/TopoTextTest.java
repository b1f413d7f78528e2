package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.LinkType;
import io.jccl.topology.PathType;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TopoTextTest {

    @ParameterizedTest
    @EnumSource(Reports.Fabric.class)
    void everyNodeHasItsLineAndEveryLinkIsShown(Reports.Fabric fabric) {
        TopologyReport report = Reports.of(Reports.host(2, 1, 2, fabric), 2);
        String text = TopoText.write(List.of(report));
        String host = text.substring(text.indexOf("TOPOLOGY"), text.indexOf("PATHS"));
        for (TopologyReport.NodeRow node : report.nodes()) {
            assertThat(host.lines().map(line -> line.replaceAll("^[ │├└─]*([A-Z0-9]+ [0-9.]+ )?", "") + " "))
                    .filteredOn(line -> line.startsWith(node.name() + " "))
                    .as(node.name())
                    .hasSize(1);
        }
        for (Wire wire : HostView.of(report).wires()) {
            assertThat(host).contains(wire.type() + " " + wire.label());
        }
        assertThat(text).contains("CHANNELS\nRing: ", "\nTree: ", "\nPlan: 8 ranks on 2 hosts, ");
    }

    @Test
    void aMeshOfNumaNodesIsShownOnce() {
        String text = TopoText.write(List.of(Reports.of(Reports.host(4, 1, 1, Reports.Fabric.PCI), 1)));
        assertThat(text).containsOnlyOnce("between any two NUMA nodes: SYS 10");
    }

    @Test
    void manyRanksAreCountedInsteadOfListed() {
        String text = TopoText.write(List.of(Reports.of(Reports.host(2, 2, 5, Reports.Fabric.PCI), 1)));
        assertThat(text).contains("GPU to GPU  PIX 24  80 pairs", "GPU to GPU  SYS 10  200 pairs");
    }

    @Test
    void pairsOfGpusWithoutPeerAccessAreCounted() {
        String text = TopoText.write(List.of(Reports.of(Reports.host(2, 1, 2, Reports.Fabric.PCI), 1)));
        assertThat(text)
                .contains(
                        "\n4 pairs of GPUs without peer access, data goes through host memory: the path between the GPUs"
                                + " has type SYS, and peer access is used up to PXB (JCCL_P2P_LEVEL)\n");
        String linked = TopoText.write(List.of(Reports.of(Reports.host(2, 1, 2, Reports.Fabric.SWITCH), 1)));
        assertThat(linked).doesNotContain("without peer access");
    }

    @Test
    void moreRanksWithGpusThanACommunicatorCanHaveAreNoted() {
        String host = Reports.host(2, 1, 4, Reports.Fabric.SWITCH);
        assertThat(TopoText.write(List.of(Reports.of(host, 513))))
                .contains("ranks=4104: more than the 4096 ranks with GPUs that a communicator can have");
        assertThat(TopoText.write(List.of(Reports.of(host, 512)))).doesNotContain("a communicator can have");
    }

    @Test
    void ranksThatShareAGpuAreReported() {
        String text = TopoText.write(List.of(Reports.of(Reports.SHARED, 1)));
        assertThat(text)
                .contains(
                        ": 2 GPUs (sm 9.0) with 4 ranks, 1 NUMA node",
                        "\nranks that share a GPU: ranks {0-2} on 0000:11:00.0\n",
                        "LOC 1675");
        assertThat(TopoText.write(List.of(Reports.of(Reports.host(1, 1, 2, Reports.Fabric.PCI), 1))))
                .doesNotContain("share a GPU");
    }

    @Test
    void choicesOfNeighbouringSizesAreOneRow() {
        TopologyReport report = Reports.of(
                "<system version=\"1\"><cpu numaid=\"0\"><host rank=\"0\"/><host rank=\"1\"/></cpu></system>", 1);
        String text = TopoText.write(List.of(report));
        long rows = text.lines().filter(line -> line.startsWith("all_reduce")).count();
        assertThat(rows).isBetween(1L, 9L);
        assertThat(text.lines().filter(line -> line.startsWith("barrier"))).hasSize(1);
    }

    @Test
    void originsAreShownOnceForAllNodesThatShareThem() {
        String text = TopoText.write(List.of(Reports.of(
                """
                <system version="1"><cpu numaid="0" origin="sysfs without affinity">
                <pci busid="0000:01:00.0" class="0x030200" origin="sysfs without link_speed">
                <gpu dev="0" sm="80" rank="0" origin="nvml without sm"/></pci>
                <pci busid="0000:02:00.0" class="0x030200"><gpu dev="1" sm="80" rank="1" origin="nvml without sm"/></pci>
                <pci busid="0000:03:00.0" class="0x020700" origin="sysfs without link_speed"><nic>
                <net name="a" dev="0" speed="100000"/><net name="b" dev="-1" origin="not used"/></nic></pci>
                </cpu></system>
                """,
                2)));
        String host = text.substring(text.indexOf("TOPOLOGY"), text.indexOf("\nPATHS"));
        assertThat(host.lines().filter(line -> line.startsWith("origin of ")))
                .containsExactly(
                        "origin of CPU/0: sysfs without affinity",
                        "origin of NIC/0000:03:00.0, GPU/0: sysfs without link_speed",
                        "origin of GPU/0, 1: nvml without sm");
    }

    @Test
    void typesOfPathsAreDescribed() {
        String text = TopoText.write(List.of(Reports.of(Reports.host(1, 2, 2, Reports.Fabric.SWITCH), 2)));
        assertThat(text)
                .containsPattern(
                        "Ring: .* GB/s inside, over NVLink \\(NVL\\); .* to the network ports, through one PCI")
                .containsPattern("Plan: 8 ranks on 2 hosts, \\d+ channels \\(\\d along each channel of a host\\)");
    }

    @ParameterizedTest
    @EnumSource(Reports.Fabric.class)
    void theLegendExplainsTheTypesThatAreUsedAndNoOthers(Reports.Fabric fabric) {
        String text = TopoText.write(List.of(Reports.of(Reports.host(2, 2, 2, fabric), 2)));
        assertThat(text).containsOnlyOnce("\nLEGEND\n");
        String host = text.substring(text.indexOf("TOPOLOGY"), text.indexOf("PATHS"));
        String paths = text.substring(text.indexOf("PATHS"), text.indexOf("CHANNELS"));
        String legend = text.substring(text.indexOf("\nLEGEND\n"));
        for (LinkType type : LinkType.values()) {
            boolean used =
                    Pattern.compile("\\b" + type + " [0-9a-z]").matcher(host).find();
            assertThat(legend.contains("\nlink " + type + " ")).as("%s", type).isEqualTo(used);
        }
        for (PathType type : PathType.values()) {
            boolean used = Pattern.compile(" " + type + "[ ,\n]").matcher(paths).find();
            assertThat(legend.contains("\npath " + type + " ")).as("%s", type).isEqualTo(used);
        }
        assertThat(legend)
                .contains("\nGB/s ", "\nGPU/ ", "\nCPU/ ", "\nNET/ ", "\nus ")
                .doesNotContain("HOST/");
        assertThat(legend.contains("\nll128 ")).isEqualTo(text.contains("  ll128  "));
    }

    @Test
    void theLegendExplainsASumOfChannelsOnDifferentRoutes() {
        TopologyReport report = Reports.of(Reports.host(2, 2, 2, Reports.Fabric.MESH), 1);
        String text = TopoText.write(List.of(Reports.withRandomChannels(report, 2, false, 1)));
        assertThat(text).contains("Ring: 2 × 10 = 20 GB/s").contains("\n4 × 20 ");
    }

    @Test
    void theBandwidthOfAllChannelsTogetherIsANumberHoweverLarge() {
        String text = TopoText.write(List.of(Reports.of(
                "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\">"
                        + "<gpu dev=\"0\" sm=\"90\" rank=\"0\"/></pci></cpu></system>",
                1)));
        assertThat(text).containsPattern("Ring: \\d+ × [0-9.]+ = \\d{4,} GB/s");
    }

    @Test
    void hostsThatDifferAreShownOneByOneUnderOnePlan() {
        String text = TopoText.write(Reports.ofUnlike(
                Reports.host(1, 2, 2, Reports.Fabric.SWITCH), Reports.host(1, 1, 3, Reports.Fabric.PCI)));
        assertThat(text)
                .containsSubsequence(
                        "host 0, made", ": 4 GPUs", "\nhost 1, made", ": 3 GPUs", "\nPlan: 7 ranks on 2 hosts, ")
                .containsOnlyOnce("\nPlan: ")
                .containsOnlyOnce("\nCHOICES")
                .doesNotContain("along each channel of a host");
    }
}
