package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the detection of processors, PCI devices and network interfaces on hosts made of files. */
@Timeout(60)
class SysfsDetectorTest {

    private static final String PORT = "pci0000:80/0000:80:01.0";
    private static final String UPSTREAM = PORT + "/0000:81:00.0";
    private static final String CARD = UPSTREAM + "/0000:82:00.0/0000:83:00.0";

    @TempDir
    Path root;

    @Test
    void describesAServerWithTwoNumaNodesAndACardBehindASwitch() {
        server(root);
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
        assertThat(GraphBuilder.build(system).endpoints()).hasSize(2);
    }

    @Test
    void describesACapturedVirtualHostWithAFlatBus() {
        new SysfsTree(root).unpack("virtual-machine");
        assertThat(TopologyXmlWriter.write(detect()))
                .isEqualTo(
                        """
            <system version="1">
              <cpu numaid="0" affinity="3" arch="x86_64" vendor="AuthenticAMD" familyid="26" modelid="2">
                <pci busid="0000:00:03.0" class="0x020000" vendor="0x1af4" device="0x1041" subsystem_vendor="0x1af4" subsystem_device="0x1041" origin="sysfs without link_speed link_width">
                  <nic>
                    <net name="eth0" dev="0" gdr="0" state="up" driver="virtio_net" virtual="0" origin="sysfs without speed"/>
                  </nic>
                </pci>
                <nic origin="no pci device">
                  <net name="ifb0" dev="-1" gdr="0" state="down" virtual="1" origin="sysfs without speed; not used because it is down"/>
                </nic>
                <nic origin="no pci device">
                  <net name="ifb1" dev="-1" gdr="0" state="down" virtual="1" origin="sysfs without speed; not used because it is down"/>
                </nic>
                <host rank="0" bw="12.0" origin="bw assumed"/>
                <host rank="1" bw="12.0" origin="bw assumed; bound to no numa node"/>
              </cpu>
            </system>
            """);
    }

    @Test
    void listsItsAssumptionsIfAContainerHidesAlmostEverything() {
        SysfsTree tree = new SysfsTree(root).file("proc/cpuinfo", "processor : 0\n");
        tree.device("pci0000:00/0000:00:03.0", "0x020000", -1);
        tree.net("eth0", "pci0000:00/0000:00:03.0/virtio2/net/eth0", "-1", "up");
        tree.net("docker0", "virtual/net/docker0", "10000", "up");
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
    void usesAVirtualDeviceIfAContainerHasNoOther() {
        new SysfsTree(root).net("eth0", "virtual/net/eth0", "10000", "up");
        XmlElement nic = detect().children().get(0).children(ElementType.NIC).get(0);
        assertThat(nic.children().get(0).text("dev")).contains("0");
    }

    @Test
    void anEmptySystemIsOneCpuWithItsRanks() {
        XmlElement system = detect();
        assertThat(system.children()).hasSize(1);
        assertThat(system.children().get(0).children(ElementType.HOST)).hasSize(2);
    }

    /**
     * Uses the spellings of old and new kernels. A speed that the kernel does not know is left out and listed as
     * missing.
     */
    @ParameterizedTest
    @CsvSource({
        "2.5 GT/s, 1, 0.1875",
        "5 GT/s, 4, 1.5",
        "8 GT/s, 16, 12",
        "8.0 GT/s PCIe, 16, 12",
        "16 GT/s, 8, 12",
        "16.0 GT/s PCIe, 16, 24",
        "32.0 GT/s PCIe, 16, 48",
        "64.0 GT/s PCIe, 8, 48",
        "64 GT/s, 16, 96",
        "Unknown, 16, 12",
        "Unknown speed, 255, 12",
        "'', 0, 12"
    })
    void readsLinkSpeedsInEverySpelling(String speed, String width, double gbps) {
        SysfsTree tree = new SysfsTree(root).gpu("pci0000:00/0000:00:05.0", 0);
        tree.speed("pci0000:00/0000:00:05.0", speed, width);
        XmlElement system = detect();
        XmlElement pci = system.children().get(0).children(ElementType.PCI).get(0);
        boolean known = speed.contains("GT/s");
        assertThat(pci.text("link_speed").isPresent()).isEqualTo(known);
        assertThat(pci.text("origin").orElse("").contains("link_speed")).isNotEqualTo(known);
        Topology graph = GraphBuilder.build(system);
        int gpu = graph.find("DEV/0000:00:05.0").orElseThrow();
        assertThat(graph.links(gpu).get(0).bandwidthGBps()).isEqualTo(gbps);
    }

    @Test
    void twoBridgesAreOneSwitchAtEveryLevel() {
        String port = "pci0000:10/0000:10:01.0";
        String outer = port + "/0000:11:00.0/0000:12:04.0";
        String inner = outer + "/0000:13:00.0/0000:14:08.0";
        SysfsTree tree = new SysfsTree(root);
        for (String bridge : List.of(port, port + "/0000:11:00.0", outer, outer + "/0000:13:00.0", inner)) {
            tree.device(bridge, "0x060400", -1);
        }
        tree.gpu(inner + "/0000:15:00.0", -1).gpu(outer + "/0000:16:00.0", -1).gpu("pci0000:10/0000:10:02.0", -1);
        XmlElement cpu = detect().children().get(0);
        assertThat(shape(cpu)).isEqualTo("(10:02.0)(11:00.0(13:00.0(15:00.0))(16:00.0))");
    }

    /** Returns the bus ids of all PCI devices below an element, in nested parentheses. */
    private static String shape(XmlElement element) {
        StringBuilder shape = new StringBuilder();
        for (XmlElement pci : element.children(ElementType.PCI)) {
            String busId = pci.text("busid").orElseThrow();
            shape.append('(').append(busId.substring(5)).append(shape(pci)).append(')');
        }
        return shape.toString();
    }

    @Test
    void aDeviceWithoutANumaNodeTakesThatOfTheBridgesAboveIt() {
        server(root);
        new SysfsTree(root).file("sys/devices/" + CARD + "/numa_node", "-1\n");
        XmlElement far = detect().children().get(1);
        assertThat(far.children(ElementType.PCI)).hasSize(1);
        assertThat(far.children(ElementType.PCI).get(0).text("origin")).isEmpty();
    }

    @Test
    void aDeviceThatReportsOnlyItsProcessorsIsPlacedAtTheirNode() {
        SysfsTree tree = new SysfsTree(root).node(0, "000000ff", "10 21").node(1, "0000ff00", "21 10");
        tree.gpu("pci0000:80/0000:80:05.0", -1).file("sys/devices/pci0000:80/0000:80:05.0/local_cpus", "ff00\n");
        tree.gpu("pci0000:00/0000:00:05.0", -1).file("sys/devices/pci0000:00/0000:00:05.0/local_cpus", "ffff\n");
        List<XmlElement> cpus = detect().children();
        assertThat(shape(cpus.get(1))).isEqualTo("(80:05.0)");
        assertThat(shape(cpus.get(0))).isEqualTo("(00:05.0)");
        assertThat(cpus.get(0).children(ElementType.PCI).get(0).text("origin").orElseThrow())
                .contains("numa_node");
    }

    @Test
    void aNodeWithoutProcessorsIsNoCpuAndItsDevicesArePlacedAtTheNearestCpu() {
        SysfsTree tree = new SysfsTree(root)
                .node(0, "000000ff", "10 40 80 80")
                .node(1, "0000ff00", "40 10 80 80")
                .node(2, "00000000", "80 80 10 80")
                .node(10, "00000000", "90 50 80 10");
        tree.gpu("pci0009:01/0009:01:00.0", 10);
        List<XmlElement> cpus = detect().children();
        assertThat(cpus.stream().map(cpu -> cpu.integer("numaid", -1))).containsExactly(0, 1);
        assertThat(cpus.get(1).children(ElementType.PCI)).hasSize(1);
    }

    @Test
    void survivesSymbolicLinksThatFormCyclesOrLeadNowhere() throws IOException {
        Files.createDirectories(root.resolve("sys/class/net"));
        Files.createDirectories(root.resolve("sys/class/infiniband"));
        Files.createDirectories(root.resolve("sys/bus/pci/devices"));
        Files.createSymbolicLink(root.resolve("sys/class/net/eth0"), Path.of("eth1"));
        Files.createSymbolicLink(root.resolve("sys/class/net/eth1"), Path.of("eth0"));
        Files.createSymbolicLink(root.resolve("sys/class/infiniband/mlx5_0"), Path.of("../infiniband"));
        Files.createSymbolicLink(root.resolve("sys/bus/pci/devices/0000:01:00.0"), Path.of("0000:01:00.0"));
        Files.createSymbolicLink(root.resolve("sys/bus/pci/devices/0000:02:00.0"), Path.of("../nowhere"));
        Files.createDirectories(root.resolve("sys/devices/system/node/node0/cpumap"));
        Files.createSymbolicLink(root.resolve("proc"), Path.of("proc"));
        assertThat(detect().children()).hasSize(1);
    }

    /** Replaces files by folders: nobody can read these, not even the superuser who may run the tests. */
    @Test
    void listsFilesThatCannotBeRead() throws IOException {
        server(root);
        for (String file : List.of("max_link_speed", "class", "subsystem_device")) {
            Path path = root.resolve("sys/devices/" + CARD + "/" + file);
            Files.delete(path);
            Files.createDirectory(path);
        }
        Path upstream = root.resolve("sys/devices/" + UPSTREAM + "/0000:82:00.0/max_link_speed");
        Files.delete(upstream);
        Files.delete(root.resolve("proc/cpuinfo"));
        XmlElement cpu = detect().children().get(1);
        assertThat(cpu.text("origin")).contains("sysfs without vendor familyid modelid");
        XmlElement card =
                cpu.children(ElementType.PCI).get(0).children(ElementType.PCI).get(0);
        assertThat(card.text("origin")).contains("sysfs without class subsystem_device link_speed");
        assertThat(card.text("link_width")).contains("8");
    }

    @Test
    void doesNotWaitForAPipeInThePlaceOfAFile() throws Exception {
        server(root);
        Path file = root.resolve("proc/cpuinfo");
        Files.delete(file);
        Process made = new ProcessBuilder("mkfifo", file.toString()).start();
        assumeTrue(made.waitFor() == 0, "no pipe could be made");
        assertThat(detect().children().get(0).text("origin")).contains("sysfs without vendor familyid modelid");
    }

    @Test
    void whateverTheFilesContainTheDescriptionCanBeReadBack() throws IOException {
        Random random = new Random(3);
        for (int round = 0; round < 30; round++) {
            Path fuzzed = Files.createDirectory(root.resolve("round" + round));
            server(fuzzed);
            VerbsDevicesTest.cluster(fuzzed);
            List<Path> files;
            try (var walk = Files.walk(fuzzed)) {
                files = walk.filter(Files::isRegularFile).sorted().toList();
            }
            for (Path file : files) {
                byte[] garbage = new byte[random.nextInt(40)];
                random.nextBytes(garbage);
                if (random.nextInt(3) == 0) {
                    Files.write(file, garbage);
                }
            }
            XmlElement system = detect(fuzzed);
            assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(system))).isEqualTo(system);
            NodePaths.compute(GraphBuilder.build(system));
        }
    }

    @Test
    void knowsTheNumaNodeOfABoundProcess() {
        server(root);
        SysfsTree tree = new SysfsTree(root).file("proc/self/status", "Name:\tjava\nCpus_allowed:\t00000f00\n");
        assertThat(new SysfsDetector(root, "amd64").numaNodeOfThisProcess()).isEqualTo(1);
        tree.file("proc/self/status", "Name:\tjava\nCpus_allowed:\tffff\n");
        assertThat(new SysfsDetector(root, "amd64").numaNodeOfThisProcess()).isEqualTo(-1);
    }

    @Test
    void describesThisHost() {
        assumeTrue(Files.isDirectory(Path.of("/sys")), "no sysfs");
        XmlElement system = SysfsDetector.detectThisHost(List.of(new HostRank(0, -1), new HostRank(1, 0)));
        Topology topology = GraphBuilder.build(system);
        assertThat(topology.endpoints()).hasSize(2);
        assertThat(NodePaths.compute(topology)
                        .path(topology.endpoints().get(0), topology.endpoints().get(1))
                        .exists())
                .isTrue();
    }

    private XmlElement detect() {
        return detect(root);
    }

    private static XmlElement detect(Path root) {
        return new SysfsDetector(root, "amd64").detect(List.of(new HostRank(0, 0), new HostRank(1, 1)));
    }

    private static void server(Path root) {
        SysfsTree tree = new SysfsTree(root).processor("GenuineIntel", 6, 143);
        tree.node(0, "000000ff", "10 21").node(1, "0000ff00", "21 10");
        tree.device(PORT, "0x060400", 1).speed(PORT, "16.0 GT/s PCIe", "16");
        tree.device(UPSTREAM, "0x060400", 1).speed(UPSTREAM, "32.0 GT/s PCIe", "16");
        tree.ids(UPSTREAM, "0x1000", "0xc010", "0x1000", "0x0001");
        tree.device(UPSTREAM + "/0000:82:00.0", "0x060400", 1)
                .speed(UPSTREAM + "/0000:82:00.0", "16.0 GT/s PCIe", "16");
        tree.device(CARD, "0x020000", 1).speed(CARD, "32.0 GT/s PCIe", "8");
        tree.ids(CARD, "0x15b3", "0x1021", "0x15b3", "0x0041");
        tree.net("ens1", CARD + "/net/ens1", "100000", "up");
        tree.file("sys/bus/pci/drivers/mlx5_core/module", "");
        tree.link("sys/devices/" + CARD + "/driver", "sys/bus/pci/drivers/mlx5_core");
        tree.link("sys/devices/" + CARD + "/net/ens1/device", "sys/devices/" + CARD);
        tree.net("lo", "virtual/net/lo", "", "unknown").file("sys/devices/virtual/net/lo/type", "772\n");
    }
}
