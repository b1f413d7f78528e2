package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.device.GpuInventory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the detection of verbs adapters and of their network interfaces on hosts made of files. */
class VerbsDevicesTest {

    private static final String FIRST = "pci0000:00/0000:00:01.0/0000:01:00.0";
    private static final String SECOND = "pci0000:00/0000:00:02.0/0000:02:00.0";

    @TempDir
    Path root;

    /**
     * Makes a host with an InfiniBand port without an interface, a RoCE port with one, and an interface without verbs.
     */
    static void cluster(Path root) {
        SysfsTree tree = new SysfsTree(root);
        tree.device(FIRST, "0x020700", 0).device(SECOND, "0x020000", 0);
        tree.verbs("mlx5_0", FIRST, "400 Gb/sec (4X NDR)", "4: ACTIVE", "InfiniBand", "506b:4b03:00a1:0000");
        tree.verbs("mlx5_1", SECOND, "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet", "506b:4b03:00a1:0010");
        tree.net("ens2", SECOND + "/net/ens2", "100000", "up");
        tree.file("sys/devices/" + SECOND + "/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "ens2\n");
        tree.net("eno1", "pci0000:00/0000:09:00.0/net/eno1", "1000", "up");
    }

    @Test
    void aPortWithVerbsAndAnInterfaceIsOneDevice() {
        cluster(root);
        assertThat(nets(true))
                .containsExactly(
                        "<net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x506b4b0300a10000\" gdr=\"1\""
                                + " state=\"active\" layer=\"InfiniBand\"/>",
                        "<net name=\"mlx5_1\" dev=\"1\" speed=\"100000\" port=\"1\" guid=\"0x506b4b0300a10010\" gdr=\"1\""
                                + " state=\"active\" layer=\"Ethernet\" interface=\"ens2\"/>",
                        "<net name=\"eno1\" dev=\"-1\" speed=\"1000\" gdr=\"0\" state=\"up\" virtual=\"0\""
                                + " origin=\"not used because data goes by verbs, and it has none\"/>");
    }

    @Test
    void withoutVerbsOnlyPortsWithAnInterfaceAreUsed() {
        cluster(root);
        assertThat(nets(false).get(0))
                .contains("name=\"mlx5_0\" dev=\"-1\"")
                .contains("not used because it has no network interface that is up");
        assertThat(nets(false).get(1)).contains("name=\"mlx5_1\" dev=\"0\"").contains("gdr=\"0\"");
        assertThat(nets(false).get(2)).contains("name=\"eno1\" dev=\"1\"");
    }

    @Test
    void aPortThatIsNotActiveIsNotUsed() {
        cluster(root);
        SysfsTree tree = new SysfsTree(root);
        tree.file("sys/devices/" + FIRST + "/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
        assertThat(nets(true).get(0))
                .contains("dev=\"-1\"")
                .contains("state=\"down\"")
                .contains("origin=\"not used because its port is not active\"");
    }

    @Test
    void aPortThatReportsOnlyItsNameIsStillDescribed() {
        SysfsTree tree = new SysfsTree(root).device(FIRST, "0x020700", 0);
        tree.verbs("hfi1_0", FIRST, "garbage", "4: ACTIVE", "", "0000:0000:0000:0000");
        assertThat(nets(true))
                .containsExactly("<net name=\"hfi1_0\" dev=\"0\" port=\"1\" gdr=\"1\" state=\"active\""
                        + " origin=\"sysfs without speed\"/>");
    }

    @Test
    void portsOfOneCardFindTheirInterfacesByNumber() {
        SysfsTree tree = new SysfsTree(root).device(FIRST, "0x020700", 0);
        tree.verbs("mlx4_0", FIRST, "56 Gb/sec (4X FDR)", "4: ACTIVE", "InfiniBand", "506b:4b03:00a1:0000");
        String second = "sys/devices/" + FIRST + "/infiniband/mlx4_0/ports/2/";
        tree.file(second + "rate", "56 Gb/sec (4X FDR)\n").file(second + "state", "4: ACTIVE\n");
        for (int port = 0; port < 2; port++) {
            tree.net("ib" + port, FIRST + "/net/ib" + port, "56000", "up");
            tree.file("sys/devices/" + FIRST + "/net/ib" + port + "/dev_port", port + "\n");
        }
        assertThat(nets(false)).hasSize(2);
        assertThat(nets(false).get(0)).contains("port=\"1\"").contains("interface=\"ib0\"");
        assertThat(nets(false).get(1)).contains("port=\"2\"").contains("interface=\"ib1\"");
    }

    @Test
    void interfacesOfABondedAdapterAreNotUsedTwice() {
        SysfsTree tree = new SysfsTree(root).device(FIRST, "0x020000", 0);
        tree.verbs("mlx5_bond_0", FIRST, "200 Gb/sec (2X NDR)", "4: ACTIVE", "Ethernet", "506b:4b03:00a1:0000");
        tree.net("bond0", "virtual/net/bond0", "200000", "up");
        tree.net("ens1", FIRST + "/net/ens1", "100000", "up");
        tree.link("sys/devices/" + FIRST + "/net/ens1/master", "sys/devices/virtual/net/bond0");
        tree.file("sys/devices/" + FIRST + "/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
        assertThat(nets(false)).hasSize(2);
        assertThat(nets(false).get(0)).contains("name=\"ens1\" dev=\"-1\"").contains("a part of bond0");
        assertThat(nets(false).get(1))
                .contains("name=\"mlx5_bond_0\" dev=\"0\"")
                .contains("interface=\"bond0\"");
    }

    private List<String> nets(boolean verbs) {
        GpuInventory none = GpuInventory.absent("nvml", List.of());
        XmlElement system = new SysfsDetector(root, "amd64", none, verbs, Optional.empty()).detect(List.of());
        assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(system))).isEqualTo(system);
        return TopologyXmlWriter.write(system)
                .lines()
                .map(String::strip)
                .filter(line -> line.startsWith("<net "))
                .toList();
    }
}
