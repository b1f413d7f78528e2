package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.device.GpuInventory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the devices of a network plug-in in the description of a host. */
class NetPluginDevicesTest {

    private static final String CARD = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0";

    @TempDir
    Path root;

    @BeforeEach
    void makeHost() {
        SysfsTree tree = new SysfsTree(root).device(CARD, "0x020700", 0);
        tree.verbs("mlx5_0", CARD, "200 Gb/sec (4X HDR)", "4: ACTIVE", "InfiniBand", "506b:4b03:00a1:0000");
        tree.net("eth0", "virtual/net/eth0", "10000", "up");
    }

    private static NetPlugin.Device device(String name, String pciPath) {
        return new NetPlugin.Device(name, pciPath, 0xabcL, 1, 400_000, 1.5, 128, true);
    }

    private XmlElement describe(NetPlugin.Device... devices) {
        return describe(Optional.of(new NetPlugin("Fabric", "libfabric.so", 9, List.of(devices))), List.of());
    }

    private XmlElement describe(Optional<NetPlugin> plugin, List<ReducingDevice> reducing) {
        GpuInventory none = GpuInventory.absent("nvml", List.of());
        XmlElement system =
                new SysfsDetector(root, "amd64", none, true, plugin, reducing).detect(List.of(new HostRank(0, -1)));
        assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(system))).isEqualTo(system);
        return system;
    }

    private static List<String> nets(XmlElement system) {
        return TopologyXmlWriter.write(system)
                .lines()
                .map(String::strip)
                .filter(line -> line.startsWith("<net "))
                .toList();
    }

    @Test
    void devicesOfThePluginAreUsedAndOthersAreNot() {
        List<String> nets = nets(describe(device("fab0", "/sys/devices/" + CARD)));
        assertThat(nets).hasSize(3);
        assertThat(nets)
                .filteredOn(line -> line.contains("name=\"fab0\""))
                .containsExactly(
                        "<net name=\"fab0\" dev=\"0\" speed=\"400000\" port=\"1\" latency=\"1.5\" guid=\"0xabc\""
                                + " maxconn=\"128\" gdr=\"1\" plugin=\"Fabric\" origin=\"network plug-in Fabric\"/>");
        assertThat(nets)
                .filteredOn(line -> !line.contains("fab0"))
                .allMatch(line -> line.contains("dev=\"-1\"")
                        && line.contains("not used because data goes by the network plug-in Fabric"));
    }

    /** A plug-in over InfiniBand uses the kernel's name of a card, so the card appears once. */
    @Test
    void aCardThatTheSystemKnowsByTheSameNameAppearsOnce() {
        List<String> nets = nets(describe(device("mlx5_0", "/sys/devices/" + CARD)));
        assertThat(nets).hasSize(2);
        assertThat(nets.get(0)).contains("name=\"mlx5_0\" dev=\"0\" speed=\"400000\"");
    }

    /** A device is found by its PCI path, whatever its name; without a path, it is found by its name. */
    @Test
    void devicesOnANetworkThatReducesAreMarked() {
        List<ReducingDevice> reducing =
                List.of(new ReducingDevice("sharp0", "/sys/devices/" + CARD), new ReducingDevice("eth0", ""));
        List<String> nets = nets(describe(Optional.empty(), reducing));
        assertThat(nets).hasSize(2).allMatch(line -> line.contains(" coll=\"1\""));
        List<String> others = nets(describe(Optional.empty(), List.of(new ReducingDevice("mlx5_1", ""))));
        assertThat(others).hasSize(2).noneMatch(line -> line.contains("coll="));
    }

    private static String cardOf(Topology topology) {
        int net = topology.indexesOf(NodeType.NET).get(0);
        return topology.node(topology.links(net).get(0).to()).name();
    }

    @Test
    void devicesArePlacedByTheirPciPath() {
        Topology placed = GraphBuilder.build(describe(device("fab0", "/sys/devices/" + CARD)));
        Topology unplaced = GraphBuilder.build(describe(device("fab0", "")));
        assertThat(cardOf(placed)).isEqualTo("NIC/0000:03:00.0");
        assertThat(cardOf(unplaced)).isNotEqualTo("NIC/0000:03:00.0");
        Node.Net net = (Node.Net) placed.node(placed.indexesOf(NodeType.NET).get(0));
        assertThat(net.bandwidthGBps()).isEqualTo(LinkSpeeds.network(400_000));
        assertThat(net.maxConnections()).isEqualTo(128);
        assertThat(net.device()).isEqualTo("fab0");
        assertThat(net.gdr()).isTrue();
    }
}
