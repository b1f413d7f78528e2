package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PathPolicyTest {

    @ParameterizedTest
    @CsvSource({
        // Without NVLink, the network cards near GPUs of different sockets carry more than the link between the
        // sockets.
        "nvlink-mesh, JCCL_P2P_DISABLE, 1, GPU/0, GPU/1, PHB, 12",
        "nvlink-mesh, NCCL_P2P_DISABLE, 1, GPU/0, GPU/2, NET, 10",
        "nvlink-mesh, JCCL_P2P_DISABLE, 1, GPU/2, NET/0, SYS, 10",
        "nvlink-mesh, JCCL_NVB_DISABLE, 1, GPU/0, GPU/3, NET, 10",
        "nvlink-mesh, JCCL_NVB_DISABLE, 1, GPU/0, GPU/2, NVL, 20",
        "nvlink-mesh, NCCL_PXN_DISABLE, 1, GPU/2, NET/0, SYS, 10",
        "nvlink-mesh, JCCL_NET_GDR_LEVEL, LOC, GPU/0, NET/0, PHB, 12",
        "nvlink-mesh, JCCL_NET_GDR_LEVEL, 0, NET/0, GPU/0, PHB, 12",
        "nvlink-mesh, JCCL_NET_GDR_LEVEL, pix, NET/0, GPU/0, PIX, 12",
        "multiport-card, JCCL_P2P_LEVEL, NVL, GPU/0, GPU/1, PHB, 24",
        "multiport-card, JCCL_P2P_LEVEL, 1, GPU/0, GPU/1, PIX, 24",
        "chip-to-chip, JCCL_PXN_C2C, 0, GPU/1, NET/0, SYS, 6",
        "chip-to-chip, JCCL_PXN_C2C, 0, GPU/0, NET/1, PXN, 48",
        "shared-gpus, JCCL_P2P_LEVEL, LOC, GPU/0, GPU/1, LOC, 777.5",
        "shared-gpus, JCCL_P2P_DISABLE, 1, GPU/0, GPU/1, PHB, 24",
    })
    void settingsChangePaths(
            String host, String setting, String value, String from, String to, PathType type, double bandwidth) {
        NodePaths paths = NodePaths.compute(DescribedHosts.topology("paths/" + host), policy(Map.of(setting, value)));
        NodePath path = paths.path(node(paths, from), node(paths, to));
        assertThat(path.type()).isEqualTo(type);
        assertThat(path.bandwidthGBps()).isEqualTo(bandwidth);
    }

    @Test
    void aDivertedPathLeadsThroughACpu() {
        NodePaths paths = NodePaths.compute(
                DescribedHosts.topology("paths/nvlink-mesh"), policy(Map.of("JCCL_P2P_DISABLE", "1")));
        assertThat(paths.path(node(paths, "GPU/0"), node(paths, "GPU/1")).via())
                .extracting(node -> paths.topology().node(node).name())
                .containsExactly("PCI/0000:10:00.0", "CPU/0", "PCI/0000:10:00.0", "GPU/1");
    }

    /** Two GPUs and a network card are on one switch. The card cannot use the memory of the first GPU. */
    @Test
    void aGpuWhoseMemoryTheCardCannotUseSendsThroughOneWhoseMemoryItCan() {
        String gpu = "<pci busid='0000:1%d:00.0' class='0x030200' link_speed='16.0 GT/s PCIe' link_width='16'>"
                + "<gpu dev='%d' sm='80' rank='%d' gdr='%d'><nvlink target='0000:1%d:00.0' count='4' tclass='0x030200'/></gpu></pci>";
        String host =
                "<system version='1'><cpu numaid='0' arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'>"
                        + "<pci busid='0000:10:00.0' class='0x060400' link_speed='16.0 GT/s PCIe' link_width='16'>"
                        + gpu.formatted(1, 0, 0, 0, 2) + gpu.formatted(2, 1, 1, 1, 1)
                        + "<pci busid='0000:13:00.0' class='0x020700' link_speed='16.0 GT/s PCIe' link_width='16'>"
                        + "<nic><net name='mlx0' dev='0' speed='200000' port='1' guid='0x1' gdr='1'/></nic></pci></pci></cpu></system>";
        Topology topology = GraphBuilder.build(TopologyXmlReader.read(host));
        NodePaths paths = NodePaths.compute(topology);
        int first = node(paths, "GPU/0");
        int net = node(paths, "NET/0");
        assertThat(paths.path(first, net).type()).isEqualTo(PathType.PXN);
        assertThat(paths.forwarder(first, net)).isEqualTo(node(paths, "GPU/1"));
        assertThat(paths.gpuDirect(first, net, true)).isTrue();
        assertThat(paths.path(net, first).type()).isEqualTo(PathType.PHB);
        assertThat(paths.path(node(paths, "GPU/1"), net).type()).isEqualTo(PathType.PIX);
        NodePaths without = NodePaths.compute(topology, policy(Map.of("JCCL_PXN_DISABLE", "1")));
        assertThat(without.path(first, net).type()).isEqualTo(PathType.PHB);
        NodePaths farther = NodePaths.compute(topology, policy(Map.of("JCCL_NET_GDR_LEVEL", "LOC")));
        assertThat(farther.path(first, net).type()).isEqualTo(PathType.PHB);
    }

    @Test
    void unsetSettingsAreTheDefaults() {
        assertThat(policy(Map.of())).isEqualTo(PathPolicy.defaults());
        assertThatThrownBy(() -> policy(Map.of("JCCL_P2P_LEVEL", "NEAR")))
                .hasMessageContaining("JCCL_P2P_LEVEL")
                .hasMessageContaining("NEAR");
    }

    @ParameterizedTest
    @CsvSource({
        "nvlink-mesh, GPU/0, GPU/1, true",
        // The path leads through a third GPU, but kernels reach the memory by the direct path between the sockets.
        "nvlink-mesh, GPU/0, GPU/3, false",
        "multiport-card, GPU/0, GPU/1, true",
        "pcie-root-ports, GPU/0, GPU/1, false",
        "pcie-network-faster, GPU/0, GPU/1, true",
        "pcie-network-faster, GPU/0, GPU/2, false",
        "shared-gpus, GPU/0, GPU/1, true",
    })
    void gpusUseEachOthersMemoryIfItPays(String host, String one, String other, boolean expected) {
        NodePaths paths = DescribedHosts.paths("paths/" + host);
        assertThat(paths.peerToPeer(node(paths, one), node(paths, other))).isEqualTo(expected);
    }

    @Test
    void aPairOnAmdIsPeerToPeerAtAnyDistance() {
        assertThat(pairOnTwoSockets("AuthenticAMD").peerToPeer(0, 1)).isTrue();
        assertThat(pairOnTwoSockets("GenuineIntel").peerToPeer(0, 1)).isFalse();
    }

    private static NodePaths pairOnTwoSockets(String vendor) {
        Topology.Builder builder = new Topology.Builder();
        for (int i = 0; i < 2; i++) {
            builder.add(new Node.Gpu("0000:0" + i + ":00.0", i, i, 80, true));
            builder.add(new Node.Cpu(i, new CpuModel("x86_64", vendor, 25, 1), ""));
            builder.linkToParent("GPU/" + i, "CPU/" + i, 24);
        }
        builder.linkBoth("CPU/0", "CPU/1", LinkType.SYS, 16);
        return NodePaths.compute(builder.build());
    }

    @ParameterizedTest
    @CsvSource({
        "nvlink-mesh, '', GPU/0, NET/0, false, true",
        "nvlink-mesh, '', GPU/0, NET/0, true, true",
        "nvlink-mesh, JCCL_NET_GDR_READ=0, GPU/0, NET/0, true, false",
        "nvlink-mesh, JCCL_NET_GDR_READ=0, GPU/0, NET/0, false, true",
        "nvlink-mesh, JCCL_P2P_DISABLE=1, GPU/0, NET/0, true, false",
        "nvlink-mesh, '', GPU/2, NET/0, false, true",
        "nvlink-mesh, '', GPU/3, NET/0, false, false",
        "nvlink-mesh, JCCL_NET_GDR_LEVEL=SYS, GPU/3, NET/0, false, true",
        "multiport-card, '', GPU/0, NET/1, true, true",
        "multiport-card, JCCL_NET_GDR_LEVEL=SYS, GPU/0, NET/2, false, false",
        "chip-to-chip, '', GPU/0, NET/0, false, true",
        "chip-to-chip, '', GPU/1, NET/0, false, true",
        "chip-to-chip, JCCL_NET_GDR_C2C=0, GPU/0, NET/0, false, false",
        "power-nvlink, '', GPU/0, NET/0, false, false",
    })
    void cardsUseGpuMemoryIfItPays(
            String host, String setting, String gpu, String net, boolean reading, boolean expected) {
        Map<String, String> environment = setting.isEmpty()
                ? Map.of()
                : Map.of(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        NodePaths paths = NodePaths.compute(DescribedHosts.topology("paths/" + host), policy(environment));
        assertThat(paths.gpuDirect(node(paths, gpu), node(paths, net), reading)).isEqualTo(expected);
    }

    @Test
    void containersKeepRanksApart() {
        PathPolicy policy = PathPolicy.defaults()
                .withReach(
                        PeerReach.sameIsolationDomain(Map.of(0, "host/23", 1, "host/23", 2, "host/42", 3, "host/42")));
        NodePaths paths = NodePaths.compute(DescribedHosts.topology("paths/nvlink-mesh"), policy);
        assertThat(paths.path(node(paths, "GPU/0"), node(paths, "GPU/1")).type())
                .isEqualTo(PathType.NVL);
        assertThat(paths.path(node(paths, "GPU/0"), node(paths, "GPU/2")).exists())
                .isFalse();
        assertThat(ranks(Trimmer.trim(paths, 0, true))).containsExactly(0, 1);
        assertThat(ranks(Trimmer.trim(paths, 3, true))).containsExactly(2, 3);
        NodePaths again = NodePaths.compute(Trimmer.trim(paths, 3, true), policy);
        assertThat(again.path(node(again, "GPU/3"), node(again, "NET/0")).type())
                .isEqualTo(PathType.SYS);
        PathPolicy unknown = policy.withReach(PeerReach.sameIsolationDomain(Map.of(0, "host/23")));
        assertThat(ranks(Trimmer.trim(NodePaths.compute(paths.topology(), unknown), 1, true)))
                .containsExactly(1);
    }

    @Test
    void aFasterNetworkDoesNotSplitAHost() {
        NodePaths paths = DescribedHosts.paths("paths/pcie-network-faster");
        Topology trimmed = Trimmer.trim(paths, 0, true);
        assertThat(ranks(trimmed)).containsExactly(0, 1, 2, 3, 4);
        NodePaths alone = NodePaths.compute(Trimmer.trim(paths, 0, false));
        assertThat(alone.path(node(alone, "GPU/0"), node(alone, "GPU/2")).type())
                .isEqualTo(PathType.SYS);
    }

    @Test
    void gpusThatShareCardsTakeDifferentOnesInTurn() {
        NodePaths paths = DescribedHosts.paths("paths/multiport-card");
        int gpu0 = node(paths, "GPU/0");
        int gpu1 = node(paths, "GPU/1");
        assertThat(List.of(paths.networkOf(gpu0, 0), paths.networkOf(gpu1, 0)))
                .containsExactly(node(paths, "NET/0"), node(paths, "NET/1"));
        NodePaths none = DescribedHosts.paths("paths/linked-switches");
        assertThat(none.networkOf(node(none, "GPU/0"), 0)).isEqualTo(-1);
    }

    @ParameterizedTest
    @CsvSource({
        // These GPUs cannot use the NVLinks between them: their path leads through the CPU, as without NVLink.
        "0, 1, '', GPU/0, GPU/1, PHB, false",
        "0, 1, '', GPU/1, GPU/0, PHB, false",
        "0, 1, JCCL_P2P_LEVEL=SYS, GPU/0, GPU/1, PHB, false",
        "0, 1, '', GPU/0, GPU/2, NVL, true",
        // The path leads through a third GPU.
        "0, 3, '', GPU/0, GPU/3, NVB, false",
        // The link to that third GPU is barred: the path leads through the other neighbour.
        "0, 1, '', GPU/0, GPU/3, NVB, false",
        "0, 1, JCCL_P2P_LEVEL=SYS, GPU/0, GPU/3, NVB, true",
        "0, 1, '', GPU/2, GPU/3, NVL, true",
    })
    void gpusThatAreBarredFromEachOtherMeetInHostMemory(
            int one, int other, String setting, String from, String to, PathType type, boolean peerToPeer) {
        Map<String, String> environment = setting.isEmpty()
                ? Map.of()
                : Map.of(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        NodePaths paths = NodePaths.compute(barring(Map.of(one, List.of(other))), policy(environment));
        assertThat(paths.path(node(paths, from), node(paths, to)).type()).isEqualTo(type);
        assertThat(paths.peerToPeer(node(paths, from), node(paths, to))).isEqualTo(peerToPeer);
    }

    @Test
    void noPathLeadsOverAnNvlinkThatIsBarred() {
        // GPU 0 is barred from both its NVLink neighbours: NVLink leads neither to them nor to the GPU behind them.
        NodePaths paths = NodePaths.compute(barring(Map.of(0, List.of(1, 2))), PathPolicy.defaults());
        for (String other : List.of("GPU/1", "GPU/2", "GPU/3")) {
            for (NodePath path : List.of(
                    paths.path(node(paths, "GPU/0"), node(paths, other)),
                    paths.path(node(paths, other), node(paths, "GPU/0")))) {
                assertThat(path.type()).as(other).isIn(PathType.PHB, PathType.SYS, PathType.NET);
                assertThat(path.via())
                        .extracting(node -> paths.topology().node(node).type())
                        .contains(NodeType.CPU);
            }
        }
        assertThat(paths.path(node(paths, "GPU/0"), node(paths, "NET/1")).type())
                .isEqualTo(PathType.SYS);
        // Trimming keeps every rank, because other paths lead to it.
        NodePaths trimmed = NodePaths.compute(Trimmer.trim(paths, 0, true));
        assertThat(ranks(trimmed.topology())).containsExactly(0, 1, 2, 3);
    }

    @Test
    void barredGpusWithoutACpuHaveNoPath() {
        Topology.Builder builder = new Topology.Builder();
        for (int i = 0; i < 2; i++) {
            builder.add(new Node.Gpu("0000:0" + i + ":00.0", i, i, 80, true, List.of("0000:0" + (1 - i) + ":00.0")));
        }
        builder.linkBoth("GPU/0", "GPU/1", LinkType.NVL, 20);
        NodePaths paths = NodePaths.compute(builder.build());
        assertThat(paths.path(0, 1).exists()).isFalse();
        assertThat(paths.peerToPeer(0, 1)).isFalse();
    }

    /** Returns the host nvlink-mesh, in which some GPUs name others that they cannot reach. */
    private static Topology barring(Map<Integer, List<Integer>> barred) {
        List<String> ids = List.of("0000:11:00.0", "0000:12:00.0", "0000:21:00.0", "0000:22:00.0");
        String[] text = {DescribedHosts.text("paths/nvlink-mesh")};
        barred.forEach((gpu, others) -> text[0] = text[0].replace(
                "<gpu dev=\"" + gpu + "\"",
                "<gpu dev=\"" + gpu + "\" nop2p=\""
                        + String.join(" ", others.stream().map(ids::get).toList()) + "\""));
        return GraphBuilder.build(TopologyXmlReader.read(text[0]));
    }

    private static List<Integer> ranks(Topology topology) {
        return topology.endpoints().stream()
                .map(node -> Topology.rankOf(topology.node(node)))
                .toList();
    }

    private static int node(NodePaths paths, String name) {
        return paths.topology().find(name).orElseThrow();
    }

    private static PathPolicy policy(Map<String, String> environment) {
        return PathPolicy.of(Settings.load(CommunicatorConfig.defaults(), name -> null, environment));
    }
}
