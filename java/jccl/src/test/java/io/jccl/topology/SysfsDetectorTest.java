package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SysfsDetectorTest {

    @TempDir
    Path root;

    @Test
    void describes_a_server_with_two_numa_nodes_and_a_card_behind_a_switch() throws IOException {
        server();
        XmlElement system = detect();
        assertThat(TopologyXmlWriter.write(system))
                .isEqualTo(
                        """
            <system version="1">
              <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <host rank="0" bw="12.0" origin="bw assumed"/>
              </cpu>
              <cpu numaid="1" affinity="0000ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:81:00.0" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0x0001" link_speed="16.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:83:00.0" class="0x020000" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x0041" link_speed="16.0 GT/s PCIe" link_width="8">
                    <nic>
                      <net name="ens1" dev="0" speed="100000" gdr="0" state="up" driver="mlx5_core" virtual="0"/>
                    </nic>
                  </pci>
                </pci>
                <host rank="1" bw="12.0" origin="bw assumed"/>
              </cpu>
            </system>
            """);
        assertThat(NodePaths.compute(GraphBuilder.build(system)).topology().endpoints())
                .hasSize(2);
    }

    @Test
    void describes_a_virtual_machine_with_a_flat_bus_and_says_what_it_assumed() throws IOException {
        file("proc/cpuinfo", "processor : 0\n");
        device("devices/pci0000:00/0000:00:03.0", "0x020000", "-1");
        net("eth0", "devices/pci0000:00/0000:00:03.0/virtio2/net/eth0", "-1", "up");
        net("docker0", "devices/virtual/net/docker0", "10000", "up");
        XmlElement cpu = detect().children().get(0);
        assertThat(cpu.text("origin")).contains("sysfs without numa nodes affinity vendor familyid modelid");
        XmlElement pci = cpu.children(ElementType.PCI).get(0);
        assertThat(pci.text("busid")).contains("0000:00:03.0");
        assertThat(pci.text("origin").orElseThrow()).contains("link_speed link_width numa_node");
        XmlElement net = pci.children().get(0).children().get(0);
        assertThat(net.text("speed")).isEmpty();
        assertThat(net.text("dev")).contains("0");
        XmlElement docker = cpu.children(ElementType.NIC).get(0).children().get(0);
        assertThat(docker.text("dev")).contains("-1");
        assertThat(docker.text("origin")).contains("not used because it is virtual");
    }

    @Test
    void uses_a_virtual_device_where_a_container_has_nothing_else() throws IOException {
        net("eth0", "devices/virtual/net/eth0", "10000", "up");
        XmlElement net = detect().children()
                .get(0)
                .children(ElementType.NIC)
                .get(0)
                .children()
                .get(0);
        assertThat(net.text("dev")).contains("0");
    }

    @Test
    void an_empty_system_is_one_cpu_with_its_ranks() {
        XmlElement system = detect();
        assertThat(system.children()).hasSize(1);
        assertThat(system.children().get(0).children(ElementType.HOST)).hasSize(2);
    }

    @Test
    void survives_links_that_go_in_circles_and_into_nothing() throws IOException {
        Files.createDirectories(root.resolve("sys/class/net"));
        Files.createDirectories(root.resolve("sys/bus/pci/devices"));
        Files.createSymbolicLink(root.resolve("sys/class/net/eth0"), Path.of("eth1"));
        Files.createSymbolicLink(root.resolve("sys/class/net/eth1"), Path.of("eth0"));
        Files.createSymbolicLink(root.resolve("sys/bus/pci/devices/0000:01:00.0"), Path.of("0000:01:00.0"));
        Files.createSymbolicLink(root.resolve("sys/bus/pci/devices/0000:02:00.0"), Path.of("../nowhere"));
        Files.createDirectories(root.resolve("sys/devices/system/node/node0/cpumap"));
        assertThat(detect().children()).hasSize(1);
    }

    @Test
    void survives_files_that_may_not_be_read() throws IOException {
        server();
        Path speed = root.resolve("sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0/0000:83:00.0")
                .resolve("max_link_speed");
        Files.setPosixFilePermissions(speed, PosixFilePermissions.fromString("---------"));
        Files.delete(root.resolve("proc/cpuinfo"));
        assertThatCode(this::detect).doesNotThrowAnyException();
    }

    @Test
    void finds_gpus_by_their_class_and_vendor() throws IOException {
        device("devices/pci0000:00/0000:00:01.0/0000:01:00.0", "0x030200", "0");
        file("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor", "0x10de\n");
        device("devices/pci0000:00/0000:00:02.0", "0x030000", "0");
        XmlElement system = detect();
        List<XmlElement> pcis = system.children().get(0).children(ElementType.PCI);
        assertThat(pcis).hasSize(1);
        assertThat(pcis.get(0).children(ElementType.GPU)).hasSize(1);
        assertThat(GraphBuilder.build(system).find("DEV/0000:01:00.0")).isPresent();
    }

    @Test
    void whatever_the_files_contain_the_description_can_be_read_back() throws IOException {
        Random random = new Random(3);
        for (int round = 0; round < 30; round++) {
            Path fuzzed = Files.createDirectory(root.resolve("round" + round));
            Path own = root;
            root = fuzzed;
            server();
            List<Path> files;
            try (var walk = Files.walk(fuzzed)) {
                files = walk.filter(Files::isRegularFile).sorted().toList();
            }
            for (Path file : files) {
                byte[] junk = new byte[random.nextInt(40)];
                random.nextBytes(junk);
                if (random.nextInt(3) == 0) {
                    Files.write(file, junk);
                }
            }
            XmlElement system = detect();
            assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(system))).isEqualTo(system);
            NodePaths.compute(GraphBuilder.build(system));
            root = own;
        }
    }

    @Test
    void knows_the_numa_node_of_a_bound_process() throws IOException {
        server();
        file("proc/self/status", "Name:\tjava\nCpus_allowed:\t00000f00\n");
        assertThat(new SysfsDetector(root, "amd64").numaNodeOfThisProcess()).isEqualTo(1);
        file("proc/self/status", "Name:\tjava\nCpus_allowed:\tffff\n");
        assertThat(new SysfsDetector(root, "amd64").numaNodeOfThisProcess()).isEqualTo(-1);
    }

    @Test
    void describes_this_machine() {
        assumeTrue(Files.isDirectory(Path.of("/sys")), "no sysfs");
        XmlElement system = SysfsDetector.detectThisMachine(List.of(new HostRank(0, -1), new HostRank(1, 0)));
        Topology topology = GraphBuilder.build(system);
        assertThat(topology.endpoints()).hasSize(2);
        assertThat(NodePaths.compute(topology)
                        .path(topology.endpoints().get(0), topology.endpoints().get(1))
                        .exists())
                .isTrue();
    }

    private XmlElement detect() {
        return new SysfsDetector(root, "amd64").detect(List.of(new HostRank(0, 0), new HostRank(1, 1)));
    }

    private void server() throws IOException {
        file("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: X\n");
        file("sys/devices/system/node/node0/cpumap", "000000ff\n");
        file("sys/devices/system/node/node1/cpumap", "0000ff00\n");
        String port = "devices/pci0000:80/0000:80:01.0";
        device(port, "0x060400", "1");
        device(port + "/0000:81:00.0", "0x060400", "1");
        ids(port + "/0000:81:00.0", "0x1000", "0xc010", "0x1000", "0x0001");
        link(port + "/0000:81:00.0", "32.0 GT/s PCIe", "16");
        link(port, "16.0 GT/s PCIe", "16");
        device(port + "/0000:81:00.0/0000:82:00.0", "0x060400", "1");
        link(port + "/0000:81:00.0/0000:82:00.0", "16.0 GT/s PCIe", "16");
        String card = port + "/0000:81:00.0/0000:82:00.0/0000:83:00.0";
        device(card, "0x020000", "1");
        ids(card, "0x15b3", "0x1021", "0x15b3", "0x0041");
        link(card, "32.0 GT/s PCIe", "8");
        net("ens1", card + "/net/ens1", "100000", "up");
        Files.createDirectories(root.resolve("sys/bus/pci/drivers/mlx5_core"));
        Files.createSymbolicLink(
                root.resolve("sys/" + card + "/driver"), relative("sys/" + card, "sys/bus/pci/drivers/mlx5_core"));
        Files.createSymbolicLink(root.resolve("sys/" + card + "/net/ens1/device"), Path.of("../.."));
        net("lo", "devices/virtual/net/lo", "", "unknown");
        file("sys/devices/virtual/net/lo/type", "772\n");
    }

    private void device(String path, String pciClass, String numaNode) throws IOException {
        file("sys/" + path + "/class", pciClass + "\n");
        file("sys/" + path + "/numa_node", numaNode + "\n");
        String busId = path.substring(path.lastIndexOf('/') + 1);
        Path devices = Files.createDirectories(root.resolve("sys/bus/pci/devices"));
        Files.createSymbolicLink(devices.resolve(busId), Path.of("../../../" + path));
    }

    private void ids(String path, String vendor, String device, String subVendor, String subDevice) throws IOException {
        file("sys/" + path + "/vendor", vendor + "\n");
        file("sys/" + path + "/device", device + "\n");
        file("sys/" + path + "/subsystem_vendor", subVendor + "\n");
        file("sys/" + path + "/subsystem_device", subDevice + "\n");
    }

    private void link(String path, String speed, String width) throws IOException {
        file("sys/" + path + "/max_link_speed", speed + "\n");
        file("sys/" + path + "/max_link_width", width + "\n");
    }

    private void net(String name, String path, String speed, String state) throws IOException {
        file("sys/" + path + "/type", "1\n");
        file("sys/" + path + "/speed", speed + "\n");
        file("sys/" + path + "/operstate", state + "\n");
        Path folder = Files.createDirectories(root.resolve("sys/class/net"));
        Files.createSymbolicLink(folder.resolve(name), Path.of("../../" + path));
    }

    private Path relative(String from, String to) {
        return root.resolve(from).relativize(root.resolve(to));
    }

    private void file(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }
}
